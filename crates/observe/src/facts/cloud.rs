//! The instance type by the metadata service of a cloud. perbuck asks it only when it is told to.
//!
//! AWS is asked by IMDSv2: its token allows the question that follows and is kept nowhere. Documented by
//! <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html>,
//! <https://cloud.google.com/compute/docs/metadata/overview> and
//! <https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service>.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::tree::value;

/// The address of all three services; it is of the link, and leads nowhere else.
const SERVICE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)), 80);
/// Time for one cloud, its token included.
const LIMIT: Duration = Duration::from_secs(1);
/// Bytes of an answer at most.
const LONGEST: u64 = 4096;

/// A cloud that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cloud {
    Aws,
    Gcp,
    Azure,
}

/// The instance type as the cloud tells it; `None` where no service answers. It takes three seconds at most.
pub fn instance_type() -> Option<String> {
    asked(SERVICE)
}

fn asked(service: SocketAddr) -> Option<String> {
    [Cloud::Aws, Cloud::Gcp, Cloud::Azure].into_iter().find_map(|cloud| asked_of(cloud, service, Instant::now() + LIMIT))
}

fn asked_of(cloud: Cloud, service: SocketAddr, until: Instant) -> Option<String> {
    let ask = |method: &str, path: &str, header: &str| {
        let request = format!("{method} {path} HTTP/1.0\r\nHost: {}\r\n{header}\r\n\r\n", service.ip());
        answer(service, &request, until).ok().and_then(|text| body(&text))
    };
    let told = match cloud {
        Cloud::Aws => {
            let token = ask("PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60\r\nContent-Length: 0")?;
            ask("GET", "/latest/meta-data/instance-type", &format!("X-aws-ec2-metadata-token: {token}"))?
        }
        Cloud::Gcp => ask("GET", "/computeMetadata/v1/instance/machine-type", "Metadata-Flavor: Google")?,
        Cloud::Azure => ask("GET", "/metadata/instance/compute/vmSize?api-version=2021-02-01&format=text", "Metadata: true")?,
    };
    // `projects/123/machineTypes/c4a-standard-16`: the rest names the user's project.
    let name = told.rsplit('/').next().unwrap_or_default();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    is_name.then(|| name.to_owned())
}

/// What the service answers to one request, head and body.
fn answer(service: SocketAddr, request: &str, until: Instant) -> io::Result<String> {
    let left = || Some(until.saturating_duration_since(Instant::now())).filter(|t| !t.is_zero()).ok_or(io::ErrorKind::TimedOut);
    let mut stream = TcpStream::connect_timeout(&service, left()?)?;
    stream.set_write_timeout(Some(left()?))?;
    stream.write_all(request.as_bytes())?;
    let mut text = Vec::new();
    let mut part = [0; 512];
    while (text.len() as u64) < LONGEST {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(&mut part)? {
            0 => break,
            n => text.extend(&part[..n]),
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The first line of the body of a good answer.
fn body(answer: &str) -> Option<String> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let is_good = head.starts_with("HTTP/1.") && head.split(' ').nth(1) == Some("200");
    is_good.then(|| body.lines().next().and_then(value)).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use std::net::TcpListener;
    use std::sync::mpsc;

    use proptest::prelude::*;

    use super::*;

    /// A service that answers by the start of a request, and what it was asked.
    fn service(answers: &'static [(&str, &str)]) -> (SocketAddr, mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, asked) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = [0; 1024];
                let length = stream.read(&mut request).unwrap();
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let found = answers.iter().find(|row| request.starts_with(row.0));
                let text = found
                    .map_or("HTTP/1.0 404 Not Found\r\n\r\nno".to_owned(), |row| format!("HTTP/1.0 200 OK\r\n\r\n{}", row.1));
                stream.write_all(text.as_bytes()).unwrap();
                if sender.send(request).is_err() {
                    break;
                }
            }
        });
        (address, asked)
    }

    #[test]
    fn each_cloud_tells_its_type() {
        let (aws, questions) =
            service(&[("PUT /latest/api/token ", "dG9rZW4="), ("GET /latest/meta-data/instance-type ", "m7g.large")]);
        assert_eq!(asked(aws).as_deref(), Some("m7g.large"));
        let questions = [questions.recv().unwrap(), questions.recv().unwrap()];
        assert!(questions[0].contains("ttl-seconds: 60") && questions[1].contains("token: dG9rZW4=\r\n"), "{questions:?}");
        let (gcp, _asked) = service(&[("GET /computeMetadata/v1/", "projects/12/machineTypes/c4a-standard-16")]);
        assert_eq!(asked(gcp).as_deref(), Some("c4a-standard-16"));
        let (azure, _asked) = service(&[("GET /metadata/instance/compute/vmSize?", "Standard_D16ps_v6")]);
        assert_eq!(asked(azure).as_deref(), Some("Standard_D16ps_v6"));
    }

    #[test]
    fn what_is_no_answer_tells_nothing_and_silence_ends() {
        let (strange, _asked) = service(&[("GET /metadata", "<html>a page of a proxy</html>")]);
        assert_eq!(asked(strange), None);
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let started = Instant::now();
        let until = started + Duration::from_millis(50);
        assert_eq!(asked_of(Cloud::Gcp, silent.local_addr().unwrap(), until), None);
        assert!(started.elapsed() >= Duration::from_millis(50));
        let closed = silent.local_addr().unwrap();
        drop(silent);
        assert_eq!(asked(closed), None);
    }

    proptest! {
        #[test]
        fn no_answer_is_too_strange(text in "\\PC{0,200}") {
            prop_assert_eq!(body(&text), None);
            body(&format!("HTTP/1.0 200 OK\r\n\r\n{text}"));
        }
    }
}
