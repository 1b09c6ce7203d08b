//! As much of a browser as the tests need: one request on each connection, and server-sent events.

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// A browser that knows one dashboard.
#[derive(Clone)]
pub struct Browser {
    pub host: String,
    pub cookie: String,
}

impl Browser {
    /// Opens the address that was printed.
    pub async fn enter(url: &str) -> Self {
        let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("an address");
        let mut browser = Self { host: host.to_owned(), cookie: String::new() };
        let answer = browser.get(&format!("/{path}")).await;
        assert_eq!((answer.code, answer.header("location")), (303, Some("/")), "{answer:?}");
        let cookie = answer.header("set-cookie").unwrap();
        browser.cookie = cookie.split(';').next().unwrap().to_owned();
        browser
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[("host", &self.host), ("cookie", &self.cookie)], "").await
    }

    /// Submits a form as a page of this dashboard does.
    pub async fn submit(&self, path: &str, form: &str) -> Answer {
        let origin = format!("http://{}", self.host);
        let kind = "application/x-www-form-urlencoded";
        let headers = [("host", &*self.host), ("cookie", &*self.cookie), ("origin", &*origin), ("content-type", kind)];
        self.send("POST", path, &headers, form).await
    }

    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.host).await.unwrap();
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        // A server that refuses may not read the body.
        let _ = stream.write_all(body.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{method} {path}: {answer:?}"));
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { code, head: head.to_owned(), body: body.to_owned() }
    }
}

/// Server-sent events.
pub struct Stream(BufReader<TcpStream>);

impl Stream {
    pub async fn open(browser: &Browser) -> Self {
        let (mut stream, code) = Self::asked(browser).await;
        assert_eq!(code, 200);
        stream.message().await;
        stream
    }

    /// A stream, and the code of the response.
    pub async fn asked(browser: &Browser) -> (Self, u16) {
        let mut stream = TcpStream::connect(&browser.host).await.unwrap();
        let (host, cookie) = (&browser.host, &browser.cookie);
        let request = format!("GET /events HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut lines = BufReader::new(stream);
        let mut first = String::new();
        lines.read_line(&mut first).await.unwrap();
        (Self(lines), first.split(' ').nth(1).unwrap().parse().unwrap())
    }

    /// Waits for a message.
    pub async fn message(&mut self) {
        let mut line = String::new();
        while !line.starts_with("event: change") {
            line.clear();
            assert!(self.0.read_line(&mut line).await.unwrap() > 0, "the stream has ended");
        }
    }
}
