//! An object in little memory: its JSON, compressed. Pages open the few objects that they show. No I/O.

use std::io::{Read as _, Write as _};
use std::marker::PhantomData;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A compressed object of kind `K`.
pub(super) struct Packed<K> {
    bytes: Box<[u8]>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Serialize + DeserializeOwned> Packed<K> {
    /// Compresses `object`.
    pub(super) fn of(object: &K) -> Self {
        // Writing to memory cannot fail, nor can an object that was decoded from JSON.
        let text = serde_json::to_vec(object).unwrap_or_default();
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        let bytes = encoder.write_all(&text).and_then(|()| encoder.finish()).unwrap_or_default();
        Self { bytes: bytes.into_boxed_slice(), kind: PhantomData }
    }

    /// The object.
    pub(super) fn open(&self) -> Option<K> {
        let mut text = Vec::new();
        DeflateDecoder::new(&*self.bytes).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Packed;

    #[test]
    fn an_object_comes_out_as_it_went_in_and_takes_little() {
        let clusters: Vec<Value> =
            (0..100).map(|at| json!({"clusterName": format!("member-{at:03}"), "minReplicas": at % 7})).collect();
        let object = json!({"clusters": clusters});
        let packed = Packed::of(&object);
        assert_eq!(packed.open(), Some(object.clone()));
        assert!(packed.bytes.len() * 8 < object.to_string().len(), "{} bytes", packed.bytes.len());
    }
}
