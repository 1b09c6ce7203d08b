//! The members of an AdmissionReview that are needed; others (`userInfo`, `requestKind`, ...) are skipped without being
//! stored. No I/O.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Operation, Request};
use crate::admission::endpoint::Endpoint;
use crate::admission::object::{Decoded, Kind, Object};

/// How the objects of a request are decoded where they stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct InPlace<'a> {
    /// The whole body, in which the text of an object is found by the members around it.
    body: &'a str,
    kind: Kind,
    /// Whether the stored object of an update is decoded as well.
    stored: bool,
}

impl<'a> InPlace<'a> {
    /// For a review on that path; the validating endpoints rarely need the stored object.
    pub(super) fn of(endpoint: Endpoint, body: &'a str) -> Option<Self> {
        let stored = endpoint.action() == "mutate";
        Some(Self { body, kind: Kind::of(endpoint)?, stored })
    }

    /// The text of the value between the names of its member and of the next one; `None` where one of them is not a part
    /// of the body, as it has escapes there.
    fn text(&self, name: &str, next: &str) -> Option<&'a str> {
        let offset = |part: &str| part.as_ptr().addr().checked_sub(self.body.as_ptr().addr());
        let between = self.body.get(offset(name)?.checked_add(name.len())?..offset(next)?)?;
        let value = between.strip_prefix('"')?.trim_ascii_start().strip_prefix(':')?;
        Some(value.strip_suffix('"')?.trim_ascii_end().strip_suffix(',')?.trim_ascii())
    }
}

/// The whole body.
#[derive(Default)]
pub(super) struct Review<'a> {
    pub(super) api_version: Text<'a>,
    pub(super) kind: Text<'a>,
    pub(super) request: Option<RawRequest<'a>>,
}

/// The members of `request` that are needed.
#[derive(Default)]
pub(super) struct RawRequest<'a> {
    pub(super) uid: Text<'a>,
    pub(super) operation: Text<'a>,
    namespace: Text<'a>,
    name: Text<'a>,
    sub_resource: Text<'a>,
    dry_run: Option<bool>,
    field_manager: Cow<'a, str>,
    object: Option<Object<'a>>,
    old_object: Option<Object<'a>>,
}

impl<'a> RawRequest<'a> {
    fn object(&mut self, which: Which) -> &mut Option<Object<'a>> {
        match which {
            Which::New => &mut self.object,
            Which::Stored => &mut self.old_object,
        }
    }

    pub(super) fn into_request(self) -> Request<'a> {
        Request {
            uid: self.uid.0,
            operation: Operation::named(&self.operation.0),
            namespace: self.namespace.0,
            name: self.name.0,
            sub_resource: self.sub_resource.0,
            dry_run: self.dry_run.unwrap_or_default(),
            field_manager: self.field_manager,
            object: self.object,
            old_object: self.old_object,
        }
    }
}

impl<'de> Deserialize<'de> for Review<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ReviewMembers(None).deserialize(deserializer)
    }
}

/// Reads a [`Review`]; without [`InPlace`] the objects are skipped.
pub(super) struct ReviewMembers<'a>(pub(super) Option<InPlace<'a>>);

impl<'de> DeserializeSeed<'de> for ReviewMembers<'de> {
    type Value = Review<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ReviewMembers<'de> {
    type Value = Review<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an AdmissionReview")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Review<'de>, A::Error> {
        let mut review = Review::default();
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "apiVersion" => review.api_version = map.next_value()?,
                "kind" => review.kind = map.next_value()?,
                // It is not defined which of two would be stored.
                "request" if review.request.is_some() => {
                    return Err(A::Error::custom("duplicate field `request`"));
                }
                "request" => review.request = map.next_value_seed(RequestMembers(self.0))?,
                _ => skip(&mut map)?,
            }
        }
        Ok(review)
    }
}

/// Reads a [`RawRequest`] or null.
struct RequestMembers<'a>(Option<InPlace<'a>>);

impl<'de> DeserializeSeed<'de> for RequestMembers<'de> {
    type Value = Option<RawRequest<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for RequestMembers<'de> {
    type Value = Option<RawRequest<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an AdmissionRequest")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        use Which::{New, Stored};
        let mut request = RawRequest::default();
        // An object whose text ends at the next member.
        let mut open: Option<Undelimited<'de>> = None;
        while let Some(Text(key)) = map.next_key()? {
            if let Some(undelimited) = open.take() {
                undelimited.end(&key, &mut request).ok_or_else(unknown_end)?;
            }
            match &*key {
                "uid" => request.uid = map.next_value()?,
                "operation" => request.operation = map.next_value()?,
                "namespace" => request.namespace = map.next_value()?,
                "name" => request.name = map.next_value()?,
                "subResource" => request.sub_resource = map.next_value()?,
                "dryRun" => request.dry_run = map.next_value()?,
                "options" => request.field_manager = Cow::Borrowed(field_manager(map.next_value()?)),
                "object" => open = self.object(key, New, &mut request, &mut map)?,
                "oldObject" => open = self.object(key, Stored, &mut request, &mut map)?,
                _ => skip(&mut map)?,
            }
        }
        if open.is_some() { Err(unknown_end()) } else { Ok(Some(request)) }
    }
}

impl<'de> RequestMembers<'de> {
    /// Reads an object. Where it is decoded, its text is not known yet.
    fn object<A: MapAccess<'de>>(
        &self,
        member: Cow<'de, str>,
        which: Which,
        request: &mut RawRequest<'de>,
        map: &mut A,
    ) -> Result<Option<Undelimited<'de>>, A::Error> {
        let updates = request.operation.0 == Operation::Update.as_str();
        let in_place = self.0.filter(|in_place| which == Which::New || in_place.stored && updates);
        let (Some(in_place), Cow::Borrowed(member)) = (in_place, member) else {
            *request.object(which) = map.next_value::<Option<&RawValue>>()?.map(|json| Object::new(json.get()));
            return Ok(None);
        };
        *request.object(which) = None;
        let decoded = map.next_value_seed(in_place.kind)?;
        Ok(decoded.map(|decoded| Undelimited { in_place, member, which, decoded }))
    }
}

/// Which object of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    New,
    Stored,
}

/// A decoded object whose text ends at the next member.
struct Undelimited<'a> {
    in_place: InPlace<'a>,
    /// The name of its member.
    member: &'a str,
    which: Which,
    decoded: Decoded<'a>,
}

impl<'a> Undelimited<'a> {
    /// Puts the object into `request`; `None` where its end is not known.
    fn end(self, next: &str, request: &mut RawRequest<'a>) -> Option<()> {
        let text = self.in_place.text(self.member, next)?;
        *request.object(self.which) = Some(Object::known(text, self.decoded));
        Some(())
    }
}

/// The text of an object is not known: the pass that skips the objects finds it.
fn unknown_end<E: serde::de::Error>() -> E {
    E::custom("no member follows the object")
}

/// The field manager in the options of a request. Options that cannot be read name none, nor does a name with escapes.
fn field_manager<'a>(options: &'a RawValue) -> &'a str {
    #[derive(Deserialize)]
    struct Options<'a> {
        #[serde(borrow, rename = "fieldManager")]
        manager: Option<&'a str>,
    }
    let text = options.get();
    let read = text.starts_with('{').then(|| serde_json::from_str::<Options<'a>>(text));
    read.and_then(Result::ok).and_then(|options| options.manager).unwrap_or_default()
}

fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(|IgnoredAny| ())
}

/// A text that is borrowed unless it has escapes; null is the empty text.
#[derive(Default)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;
        impl<'de> Visitor<'de> for Borrowing {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(v)))
            }
            fn visit_str<E>(self, v: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(v.to_owned())))
            }
            fn visit_unit<E>(self) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }
        }
        deserializer.deserialize_any(Borrowing)
    }
}
