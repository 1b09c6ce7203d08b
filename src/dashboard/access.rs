//! Who may see the dashboard: requests of this machine's browser that know the token (docs/dashboard.md#security). No
//! I/O but the system's source of randomness.
//!
//! A page of another site can make a browser send requests here. It cannot read the printed address, so it has no
//! token; it cannot make the browser send the cookie, which is `SameSite=Strict`; with a name of its own for this
//! address (DNS rebinding) it sends another `Host`.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::header::{COOKIE, HOST, ORIGIN};
use http::{HeaderMap, HeaderName, Method, Uri};
use subtle::ConstantTimeEq as _;

/// Name of the parameter of the printed address.
pub(super) const TOKEN: &str = "token";
/// Longest query that is looked at.
const QUERY: usize = 4096;

/// A text that only this process and its user know. It has no `Debug`, so that no log has it.
pub(super) struct Secret(String);

impl Secret {
    /// 256 random bits.
    pub(super) fn new() -> Result<Self, String> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| format!("the system gives no random numbers: {error}"))?;
        Ok(Self(BASE64_URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Whether `text` is the secret; takes as long whatever it is.
    pub(super) fn is(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }

    /// The text itself.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is answered.
    Admitted,
    /// It has the token: it gets this cookie, and is sent to this path.
    Entered { cookie: String, path: String },
    /// It is refused, with the reason.
    Refused(&'static str),
}

/// The secrets of one dashboard, and the address that it is reached by.
pub(super) struct Access {
    hosts: [String; 2],
    cookie: String,
    session: Secret,
    /// Given to forms, which return it.
    pub(super) form: Secret,
}

impl Access {
    /// Of a dashboard at `address`.
    pub(super) fn new(address: SocketAddr) -> Result<Self, String> {
        let port = address.port();
        Ok(Self {
            hosts: [address.to_string(), format!("localhost:{port}")],
            // Cookies do not know ports: dashboards beside each other need names of their own.
            cookie: format!("fhpa-dashboard-{port}"),
            session: Secret::new()?,
            form: Secret::new()?,
        })
    }

    /// The address to open in a browser. It has the token: it is for the user's eyes alone.
    pub(super) fn url(&self) -> String {
        let [host, _] = &self.hosts;
        format!("http://{host}/?{TOKEN}={}", self.session.expose())
    }

    /// What becomes of a request with this head.
    pub(super) fn judge(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Verdict {
        let own = |host: &str| self.hosts.iter().any(|known| known == host);
        if !single(headers, HOST).is_some_and(own) {
            return Verdict::Refused("the Host header is not the address of this dashboard");
        }
        let origin = single(headers, ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
        if method == Method::POST && !origin.is_some_and(own) {
            return Verdict::Refused("the Origin header is not the address of this dashboard");
        }
        match token(uri) {
            Some(token) if method != Method::POST && self.session.is(&token) => self.entered(uri.path()),
            Some(_) => Verdict::Refused("the token is not that of this dashboard"),
            None if self.has_cookie(headers) => Verdict::Admitted,
            None => Verdict::Refused("open the address that `fhpa dashboard` printed; it has the token"),
        }
    }

    fn entered(&self, path: &str) -> Verdict {
        let (name, value) = (&self.cookie, self.session.expose());
        let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict");
        // Two slashes would name another host.
        Verdict::Entered { cookie, path: format!("/{}", path.trim_start_matches('/')) }
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie && self.session.is(value))
    }
}

/// The value of a header that is there once.
fn single(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_some() { None } else { first.to_str().ok() }
}

fn token(uri: &Uri) -> Option<String> {
    let query = uri.query().filter(|query| query.len() <= QUERY)?;
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == TOKEN).map(|(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access::new("127.0.0.1:4321".parse().unwrap()).unwrap()
    }

    fn judged(access: &Access, method: &Method, path: &str, headers: &[(&str, &str)]) -> Verdict {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        access.judge(method, &path.parse().unwrap(), &map)
    }

    fn cookie(access: &Access) -> String {
        format!("a=b; fhpa-dashboard-4321={}", access.session.expose())
    }

    #[test]
    fn the_printed_address_sets_a_cookie_that_admits() {
        let access = access();
        let path = access.url().strip_prefix("http://127.0.0.1:4321").unwrap().to_owned();
        let Verdict::Entered { cookie, path } = judged(&access, &Method::GET, &path, &[("host", "127.0.0.1:4321")])
        else {
            panic!("the token is refused");
        };
        assert_eq!(path, "/");
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
        let value = cookie.split(';').next().unwrap();
        let headers = [("host", "localhost:4321"), ("cookie", value)];
        assert_eq!(judged(&access, &Method::GET, "/clusters", &headers), Verdict::Admitted);
    }

    #[test]
    fn another_host_token_or_cookie_is_refused() {
        let access = access();
        let cookie = cookie(&access);
        let own = ("host", "127.0.0.1:4321");
        let refused = |path: &str, headers: &[(&str, &str)]| {
            matches!(judged(&access, &Method::GET, path, headers), Verdict::Refused(_))
        };
        assert!(refused("/", &[own]) && refused("/", &[("cookie", &cookie)]));
        for host in ["evil.example:4321", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:4321.evil.example", ""] {
            assert!(refused("/", &[("host", host), ("cookie", &cookie)]), "{host}");
        }
        assert!(refused("/", &[own, ("host", "evil.example"), ("cookie", &cookie)]), "two hosts");
        assert!(refused("/?token=", &[own, ("cookie", &cookie)]), "a wrong token beside a right cookie");
        assert!(refused("/", &[own, ("cookie", "fhpa-dashboard-4321=")]));
        assert!(refused("/", &[own, ("cookie", &cookie.replace("4321", "4322"))]));
    }

    #[test]
    fn a_form_of_another_site_is_refused() {
        let access = access();
        let cookie = cookie(&access);
        let posted = |origin: &[(&str, &str)]| {
            let headers = [&[("host", "127.0.0.1:4321"), ("cookie", &*cookie)], origin].concat();
            judged(&access, &Method::POST, "/what-if", &headers)
        };
        assert_eq!(posted(&[("origin", "http://127.0.0.1:4321")]), Verdict::Admitted);
        for origin in ["http://evil.example", "https://127.0.0.1:4321", "null", "http://127.0.0.1:80"] {
            assert!(matches!(posted(&[("origin", origin)]), Verdict::Refused(_)), "{origin}");
        }
        assert!(matches!(posted(&[]), Verdict::Refused(_)), "no origin");
    }

    #[test]
    fn the_token_leads_to_a_path_of_this_host() {
        let access = access();
        let Verdict::Entered { path, .. } = access.entered("//evil.example/a") else { panic!() };
        assert_eq!(path, "/evil.example/a");
    }

    #[test]
    fn secrets_differ_and_are_long() {
        let access = access();
        assert_ne!(access.session.expose(), access.form.expose());
        assert_eq!(access.session.expose().len(), 43);
    }
}
