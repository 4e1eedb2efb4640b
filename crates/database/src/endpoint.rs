//! Where a server listens: a host with a port, or a socket in the file system.

use crate::address::{TargetProblem, percent_decode, percent_encode, problem};

/// Reads `HOST`, `HOST:PORT` or `[IPV6]:PORT`; what is no host is refused.
pub fn parse_host(text: &str, default_port: u16) -> Result<(String, u16), TargetProblem> {
    let bad = || {
        // What stands where a port should may be a password, of `user@host:password`.
        let shown = match text.rsplit_once(':') {
            Some((host, port)) if !port.bytes().all(|b| b.is_ascii_digit()) => format!("{host}:…"),
            _ => text.to_owned(),
        };
        problem(format!("`{shown}` is not a host"), "write HOST, HOST:PORT or [IPV6]:PORT, several with commas")
    };
    let (host, port) = match text.strip_prefix('[') {
        Some(bracketed) => {
            let Some((host, port)) = bracketed.split_once(']') else { return bad() };
            let Ok(address) = host.parse::<std::net::Ipv6Addr>() else { return bad() };
            (address.to_string(), port)
        }
        None => {
            let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            if host.is_empty() || !host.chars().all(plain) {
                return bad();
            }
            (host.to_owned(), port)
        }
    };
    match port.strip_prefix(':').map(str::parse::<u16>) {
        None if port.is_empty() => Ok((host, default_port)),
        Some(Ok(port)) if port > 0 => Ok((host, port)),
        _ => bad(),
    }
}

/// Whether what stands for a host is the path of a socket in the file system of this machine.
pub fn is_socket(host: &str) -> bool {
    host.starts_with('/')
}

/// Whether a host is an address of this machine alone.
pub fn is_of_this_machine(host: &str) -> bool {
    let loopback = |ip: std::net::IpAddr| ip.to_canonical().is_loopback();
    is_socket(host) || host == "localhost" || host.parse().is_ok_and(loopback)
}

/// Reads a host as [`parse_host`] does, or the path of a socket, which is absolute and has `%2F` for each `/`, as in an address of libpq.
pub(crate) fn parse_endpoint(text: &str, default_port: u16) -> Result<(String, u16), TargetProblem> {
    if !text.to_ascii_lowercase().starts_with("%2f") && !is_socket(text) {
        return parse_host(text, default_port);
    }
    Ok((percent_decode(text, "the path of the socket")?, 0))
}

/// A host as an address holds it.
pub fn endpoint_text(host: &str, port: u16) -> String {
    if is_socket(host) { percent_encode(host, ":@/?#%,&+") } else { host_text(host, port) }
}

/// `host:port`, with brackets around an IPv6 address; of a socket its path.
pub fn host_text(host: &str, port: u16) -> String {
    if is_socket(host) {
        return host.to_owned();
    }
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// A word for some hosts: `host-port`, of several the first and the number of the others.
pub fn label_of(hosts: &[(String, u16)]) -> String {
    let one = |(host, port): &(String, u16)| match host.rsplit_once('/') {
        Some((_, file)) => file.to_owned(),
        None => format!("{host}-{port}"),
    };
    match hosts {
        [first] => one(first),
        [first, rest @ ..] => format!("{}-and-{}", one(first), rest.len()),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_a_path_with_its_lines_encoded() {
        let socket = parse_endpoint("%2Frun%2Fmy%3Asql.sock", 3306).unwrap();
        assert_eq!(socket, ("/run/my:sql.sock".to_owned(), 0));
        assert_eq!(endpoint_text(&socket.0, socket.1), "%2Frun%2Fmy%3Asql.sock");
        assert_eq!((host_text(&socket.0, 0), label_of(&[socket])), ("/run/my:sql.sock".to_owned(), "my:sql.sock".to_owned()));
        assert_eq!(parse_endpoint("db1", 3306).unwrap(), ("db1".to_owned(), 3306));
        assert!(is_of_this_machine("/x") && is_of_this_machine("::1") && !is_of_this_machine("10.0.0.1"));
    }
}
