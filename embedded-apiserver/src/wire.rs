//! Bodies in Kubernetes' protobuf, which kubectl's typed commands send -> JSON. Responses are always JSON. No I/O.

use std::{collections::HashMap, sync::LazyLock};

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::object::as_map;

/// One message a line: its name, a tab, and `number:name:type` for each field. Types: s text, i integer, b boolean, d
/// floating point, y bytes, m and the name of a message, T time, U time with microseconds, Q quantity, I integer or
/// text, F field set, R any JSON; * before a type for a list, { for a map from text. The members of a field named `.`
/// are merged into its parent.
const TABLE: &str = include_str!("wire.tsv");

/// First bytes of a body.
const MAGIC: &[u8] = b"k8s\0";

/// Most levels of nested messages.
const DEPTH: usize = 64;

/// Zero means unset in these fields; protobuf writes it anyway.
const ZERO_IS_UNSET: &[&str] = &[
    "generation",
    "observedGeneration",
    "minReadySeconds",
    "paused",
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "stdin",
    "stdinOnce",
    "tty",
    "readOnly",
    "hostPort",
    "count",
    "publishNotReadyAddresses",
    "nodePort",
    "initialDelaySeconds",
    "healthCheckNodePort",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
];

type Fields = HashMap<u64, (&'static str, &'static str)>;

static MESSAGES: LazyLock<HashMap<&'static str, Fields>> = LazyLock::new(|| {
    let field = |text: &'static str| {
        let mut parts = text.splitn(3, ':');
        Some((parts.next()?.parse().ok()?, (parts.next()?, parts.next()?)))
    };
    let lines = TABLE.lines().filter_map(|line| line.split_once('\t'));
    lines.map(|(name, fields)| (name, fields.split(' ').filter_map(field).collect())).collect()
});

/// Why a body could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes are not valid protobuf.
    #[error("the body is not a protobuf message of Kubernetes")]
    Malformed,
    /// There is no table for the kind.
    #[error("no protobuf form is known for {0}")]
    Unknown(String),
}

/// Reads a body, which contains the name of its kind.
///
/// # Errors
/// The bytes are not a valid message, or the kind is not in the table.
pub fn decode(body: &[u8]) -> Result<Value, WireError> {
    let envelope = body.strip_prefix(MAGIC).ok_or(WireError::Malformed)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in Reader(envelope) {
        match field? {
            (1, Wire::Bytes(bytes)) => {
                for field in Reader(bytes) {
                    match field? {
                        (1, Wire::Bytes(text)) => api_version = text_of(text),
                        (2, Wire::Bytes(text)) => kind = text_of(text),
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let message = message_name(&api_version, &kind);
    let mut object = message_value(&message, raw, 0)?;
    let map = as_map(&mut object);
    map.insert("apiVersion".into(), api_version.into());
    map.insert("kind".into(), kind.into());
    Ok(object)
}

fn message_name(api_version: &str, kind: &str) -> String {
    if kind == "DeleteOptions" {
        return "meta.v1.DeleteOptions".to_owned();
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    format!("{}.{version}.{kind}", group.split('.').next().unwrap_or_default())
}

fn message_value(name: &str, bytes: &[u8], depth: usize) -> Result<Value, WireError> {
    let fields = MESSAGES.get(name).ok_or_else(|| WireError::Unknown(name.to_owned()))?;
    if depth > DEPTH {
        return Err(WireError::Malformed);
    }
    let mut map = Map::new();
    for field in Reader(bytes) {
        let (number, wire) = field?;
        let Some((name, kind)) = fields.get(&number) else { continue };
        if let Some(kind) = kind.strip_prefix('*') {
            if let Value::Array(list) = map.entry(*name).or_insert_with(|| json!([])) {
                list.push(value(kind, &wire, depth)?);
            }
        } else if let Some(kind) = kind.strip_prefix('{') {
            let (key, value) = entry(kind, &wire, depth)?;
            as_map(map.entry(*name).or_insert_with(|| json!({}))).insert(key, value);
        } else {
            let value = value(kind, &wire, depth)?;
            match value {
                Value::Object(flat) if *name == "." => map.extend(flat),
                value if is_set(name, &value) => {
                    map.insert((*name).to_owned(), value);
                }
                _ => {}
            }
        }
    }
    Ok(Value::Object(map))
}

fn is_set(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Bool(false) => !ZERO_IS_UNSET.contains(&name),
        Value::Number(number) if number.as_i64() == Some(0) => !ZERO_IS_UNSET.contains(&name),
        _ => true,
    }
}

fn entry(kind: &str, wire: &Wire<'_>, depth: usize) -> Result<(String, Value), WireError> {
    let Wire::Bytes(bytes) = wire else { return Err(WireError::Malformed) };
    let (mut key, mut found) = (String::new(), Value::Null);
    for field in Reader(bytes) {
        match field? {
            (1, Wire::Bytes(text)) => key = text_of(text),
            (2, wire) => found = value(kind, &wire, depth)?,
            _ => {}
        }
    }
    Ok((key, found))
}

fn value(kind: &str, wire: &Wire<'_>, depth: usize) -> Result<Value, WireError> {
    let mut letters = kind.chars();
    Ok(match (letters.next(), wire) {
        (Some('s'), Wire::Bytes(bytes)) => text_of(bytes).into(),
        (Some('y'), Wire::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        // Integers are encoded as their two's complement.
        (Some('i'), Wire::Number(number)) => number.cast_signed().into(),
        (Some('b'), Wire::Number(number)) => (*number != 0).into(),
        (Some('d'), Wire::Number(bits)) => f64::from_bits(*bits).into(),
        (Some('m'), Wire::Bytes(bytes)) => message_value(letters.as_str(), bytes, depth + 1)?,
        (Some('F' | 'R'), Wire::Bytes(bytes)) => {
            first_bytes(bytes)?.and_then(|raw| serde_json::from_slice(raw).ok()).unwrap_or_default()
        }
        (Some('Q'), Wire::Bytes(bytes)) => first_bytes(bytes)?.map(text_of).unwrap_or_default().into(),
        (Some('T'), Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%SZ")?,
        (Some('U'), Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%S%.6fZ")?,
        (Some('I'), Wire::Bytes(bytes)) => int_or_string(bytes)?,
        _ => return Err(WireError::Malformed),
    })
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn first_bytes(bytes: &[u8]) -> Result<Option<&[u8]>, WireError> {
    for field in Reader(bytes) {
        if let (1, Wire::Bytes(raw)) = field? {
            return Ok(Some(raw));
        }
    }
    Ok(None)
}

fn time(bytes: &[u8], format: &str) -> Result<Value, WireError> {
    let (mut seconds, mut nanos) = (None, 0);
    for field in Reader(bytes) {
        match field? {
            (1, Wire::Number(number)) => seconds = Some(number.cast_signed()),
            (2, Wire::Number(number)) => nanos = i32::try_from(number.cast_signed()).unwrap_or_default(),
            _ => {}
        }
    }
    let time = seconds.and_then(|seconds| Timestamp::new(seconds, nanos).ok());
    Ok(time.map(|time| Value::String(time.strftime(format).to_string())).unwrap_or_default())
}

fn int_or_string(bytes: &[u8]) -> Result<Value, WireError> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    for field in Reader(bytes) {
        match field? {
            (1, Wire::Number(kind)) => is_text = kind == 1,
            (2, Wire::Number(value)) => number = value.cast_signed(),
            (3, Wire::Bytes(bytes)) => text = text_of(bytes),
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { number.into() })
}

enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Reads the fields of a message, one after the other.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..70).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or_default();
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(head)
    }

    fn field(&mut self) -> Option<(u64, Wire<'a>)> {
        let key = self.varint()?;
        let wire = match key & 7 {
            0 => Wire::Number(self.varint()?),
            1 => Wire::Number(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = self.varint()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Number(u64::from(u32::from_le_bytes(self.take(4)?.try_into().ok()?))),
            _ => return None,
        };
        Some((key >> 3, wire))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u64, Wire<'a>), WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field().ok_or(WireError::Malformed);
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        out.extend_from_slice(bytes);
        out
    }

    #[test]
    fn a_config_map_is_read() {
        let type_meta = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
        let pair = [field(1, b"a"), field(2, b"1")].concat();
        let metadata = [field(1, b"x"), field(3, b""), field(8, b"")].concat();
        let raw = [field(1, &metadata), field(2, &pair)].concat();
        let body = [MAGIC, &field(1, &type_meta), &field(2, &raw)].concat();
        let expected = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "1"}});
        assert_eq!(decode(&body), Ok(expected));
    }

    #[test]
    fn every_message_that_the_table_names_is_in_it() {
        for (message, fields) in MESSAGES.iter() {
            for (name, kind) in fields.values() {
                let kind = kind.trim_start_matches(['*', '{']);
                let target = kind.strip_prefix('m');
                assert!(target.is_none_or(|target| MESSAGES.contains_key(target)), "{message}.{name}: {kind}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let body = [MAGIC, &field(1, &[field(1, b"v1"), field(2, b"Pod")].concat()), &field(2, &bytes)].concat();
            let _ = decode(&body);
        }
    }
}
