#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::json;

use crate::discovery::resources;
use crate::download::redirected;
use crate::error::refused;
use crate::request::{encoded, warnings};
use crate::{Api, ApiError, Context, ErrorKind, Kind, yaml};

const SECRET: &str = "c2VjcmV0LXRva2Vu";

/// A kubeconfig in a folder that is removed after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("perbuck-kubernetes-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn context(&self, text: &str) -> Context {
        let path = self.0.join("kubeconfig");
        fs::write(&path, text).unwrap();
        Context { kubeconfig: Some(path), name: None }
    }

    /// The login by a program with this text, for a server that no test reaches.
    fn plugin(&self, text: &str) -> Context {
        let path = self.0.join("plugin");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        let user = format!(
            "{{exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: {}, env: [{{name: A, value: {SECRET}}}]}}}}",
            path.display()
        );
        self.context(&kubeconfig("https://127.0.0.1:1", &user))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn kubeconfig(server: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: one\nclusters: [{{name: c, cluster: {{server: \"{server}\"}}}}]\n\
         contexts: [{{name: one, context: {{cluster: c, user: u}}}}, {{name: two, context: {{cluster: c, user: u}}}}]\n\
         users: [{{name: u, user: {user}}}]\n"
    )
}

fn refusal(context: &Context) -> ApiError {
    let error = Api::connect(context).unwrap_err();
    assert!(!format!("{error:?}").contains(SECRET), "{error:?}");
    error
}

#[test]
fn a_context_that_is_none_is_named_with_those_that_there_are() {
    let folder = Folder::new("context");
    let context = folder.context(&kubeconfig("https://127.0.0.1:1", "{}"));
    let error = refusal(&Context { name: Some("three".to_owned()), ..context });
    assert_eq!(error.kind, ErrorKind::Config);
    assert!(error.message.ends_with("no context `three`; it has one, two"), "{error}");
    let error = refusal(&folder.context("apiVersion: v1\nkind: Config\n"));
    assert!(error.message.ends_with("no current context; it has none"), "{error}");
    let error = refusal(&Context { kubeconfig: Some("/nowhere/at/all".into()), name: None });
    assert!(error.kind == ErrorKind::Config && error.message.contains("cannot read /nowhere/at/all"), "{error}");
}

#[test]
fn a_broken_kubeconfig_is_not_quoted() {
    let folder = Folder::new("broken");
    let text = kubeconfig("https://127.0.0.1:1", &format!("{{token: {SECRET}, username: [{SECRET}]}}"));
    let error = refusal(&folder.context(&text));
    assert_eq!(error.kind, ErrorKind::Config);
    assert!(error.message.contains("line "), "{error}");
}

#[test]
fn a_program_for_credentials_that_fails_is_not_quoted() {
    let folder = Folder::new("plugin");
    let error = refusal(&folder.plugin(&format!("echo {SECRET}; echo {SECRET} >&2; exit 3")));
    assert_eq!(error.kind, ErrorKind::Config);
    assert!(error.message.ends_with("the program that gives the credentials failed (exit status: 3)"), "{error}");
    let error = refusal(&folder.plugin(&format!("echo '{{\"token\": [{SECRET}'")));
    assert!(error.message.ends_with("printed something else than an ExecCredential"), "{error}");
    let mut context = folder.plugin("");
    let text = fs::read_to_string(context.kubeconfig.as_ref().unwrap()).unwrap().replace("plugin,", "missing,");
    context = folder.context(&text);
    assert!(refusal(&context).message.contains("did not start: No such file or directory"));
}

#[test]
fn a_server_that_is_gone_is_unreachable_at_once() {
    let folder = Folder::new("gone");
    let context = folder.context(&kubeconfig("https://127.0.0.1:1", &format!("{{token: {SECRET}}}")));
    let start = Instant::now();
    let error = refusal(&context);
    assert_eq!(error.kind, ErrorKind::Unreachable);
    assert!(error.message.contains("no connection to https://127.0.0.1:1: Connection refused"), "{error}");
    assert!(
        error.help.contains(&format!("--kubeconfig {} --context one version", context.kubeconfig.unwrap().display())),
        "{error:?}"
    );
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// A server that gives these answers, one a connection, and then no more; how many requests it got is the length of what it returns.
fn server(answers: &'static [&'static str]) -> (String, JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serve = move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut read = [0; 4096];
            assert!(stream.read(&mut read).unwrap() > 0);
            stream.write_all(answer.as_bytes()).unwrap();
        }
        answers.len()
    };
    (url, spawn(serve))
}

const BUSY: &str = "HTTP/1.1 503 x\r\nconnection: close\r\nretry-after: 0\r\n\r\n{\"message\": \"still busy\"}";
const VERSION: &str = "HTTP/1.1 200 x\r\nconnection: close\r\n\r\n{\"gitVersion\": \"v1.2.3\"}";

#[test]
fn a_busy_server_gets_the_request_a_few_times() {
    let folder = Folder::new("busy");
    let (url, thread) = server(&[BUSY, BUSY, VERSION, VERSION]);
    let api = Api::connect(&folder.context(&kubeconfig(&url, "{}"))).unwrap();
    assert_eq!((api.server(), api.server_version().unwrap().as_str()), (url.as_str(), "v1.2.3"));
    assert_eq!(thread.join().unwrap(), 4);
    let (url, thread) = server(&[BUSY; 5]);
    let error = refusal(&folder.context(&kubeconfig(&url, "{}")));
    assert_eq!(error.message, format!("the version: {url} answers 503: still busy"));
    assert_eq!(thread.join().unwrap(), 5);
}

#[test]
fn answers_have_the_kind_of_their_status() {
    let answer = |status: u16, body: &str| {
        refused("https://s", "kubectl", "Pod a/b", StatusCode::from_u16(status).unwrap(), body.as_bytes())
    };
    let gone = answer(404, r#"{"kind": "Status", "message": "pods \"b\" not found"}"#);
    assert_eq!((gone.kind, gone.message.as_str()), (ErrorKind::NotFound, "Pod a/b: https://s answers 404: pods \"b\" not found"));
    let kinds = [
        (400, ErrorKind::Invalid),
        (401, ErrorKind::Forbidden),
        (403, ErrorKind::Forbidden),
        (409, ErrorKind::Conflict),
        (422, ErrorKind::Invalid),
        (429, ErrorKind::Other),
        (500, ErrorKind::Other),
        (504, ErrorKind::Timeout),
    ];
    for (status, kind) in kinds {
        assert_eq!(answer(status, "{}").kind, kind, "{status}");
    }
    assert_eq!(answer(500, r#"{"message": ".spec.x: field not declared in schema"}"#).kind, ErrorKind::Invalid);
    assert!(answer(502, &"long ".repeat(1000)).message.len() < 300);
}

#[test]
fn resources_are_read_with_their_scope_and_order() {
    let version = |version: &str, verbs: &[&str]| {
        json!({ "version": version, "freshness": "Current", "resources": [
            { "resource": "widgets", "scope": "Namespaced", "verbs": verbs, "responseKind": { "kind": "Widget" } },
            { "resource": "factories", "scope": "Cluster", "verbs": ["get"], "responseKind": { "kind": "Factory" } },
        ] })
    };
    let list = json!({ "items": [
        { "metadata": {}, "versions": [version("v1", &["list", "delete"])] },
        { "metadata": { "name": "x.org" }, "versions": [version("v2", &["list"]), version("v1", &["list", "delete"])] },
    ] });
    let found = resources(&list);
    let kinds: Vec<String> = found.iter().map(|r| r.kind.to_string()).collect();
    assert_eq!(kinds, ["v1 Widget", "v1 Factory", "x.org/v2 Widget", "x.org/v2 Factory", "x.org/v1 Widget", "x.org/v1 Factory"]);
    assert_eq!(found[0].path(Some("n")), "/api/v1/namespaces/n/widgets");
    assert_eq!(found[2].path(None), "/apis/x.org/v2/widgets");
    assert_eq!(found[3].path(Some("n")), "/apis/x.org/v2/factories");
    assert_eq!(found.iter().map(|r| r.listed).collect::<Vec<_>>(), [true, false, false, false, true, false]);
    assert_eq!(Kind::of("x.org/v2", "Widget"), found[2].kind);
}

#[test]
fn warnings_lose_their_quotes() {
    let mut headers = HeaderMap::new();
    headers.append(header::WARNING, HeaderValue::from_static(r#"299 - "v1 \"Endpoints\" is deprecated""#));
    headers.append(header::WARNING, HeaderValue::from_static("299 plain"));
    assert_eq!(warnings(&headers), ["v1 \"Endpoints\" is deprecated", "299 plain"]);
}

#[test]
fn a_connection_may_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Api>();
    is_send::<ApiError>();
}

#[test]
fn a_name_stays_one_part_of_a_path() {
    assert_eq!(encoded("system:a/../b?c=d e"), "system:a%2F..%2Fb%3Fc%3Dd%20e");
}

#[test]
fn a_download_wants_https() {
    for url in ["http://example.org/x", "example.org", "https://", "file:///etc/passwd"] {
        let error = Api::download(url).unwrap_err();
        assert_eq!((error.kind, error.message), (ErrorKind::Invalid, format!("`{url}` does not start with https://")));
    }
    let from = "https://a.org/b/c".parse().unwrap();
    assert_eq!(redirected("u", &from, "/d?e=f").unwrap(), "https://a.org/d?e=f");
    assert_eq!(redirected("u", &from, "https://b.org/d").unwrap(), "https://b.org/d");
    let error = redirected("u", &from, "http://b.org/d").unwrap_err();
    assert_eq!(error.message, "`u` leads to `http://b.org/d`, which does not start with https://");
    assert!(redirected("u", &from, "//b.org/d").is_err());
    assert_eq!(Api::download("https://127.0.0.1:1/x").unwrap_err().kind, ErrorKind::Unreachable);
}

#[test]
fn yaml_is_read_as_kubectl_does() {
    let text = "# comment\n---\na: 1\nb: [\"x\", no, 0644, 1e3]\n---\n---\n{\"c\": null}\n";
    assert_eq!(yaml(text).unwrap(), [json!({ "a": 1, "b": ["x", false, 420, 1000.0] }), json!({ "c": null })]);
    let error = yaml("a: 1\nb: [c2VjcmV0\n").unwrap_err();
    assert!(
        error.kind == ErrorKind::Invalid && error.message.starts_with("no YAML: line ") && !error.message.contains("c2VjcmV0"),
        "{error}"
    );
}

/// Definitions of operators have megabytes.
#[test]
fn yaml_may_be_long() {
    let mut text = String::from("properties:\n");
    for field in 0..100_000 {
        writeln!(text, "  field{field}:\n    description: what this field is for\n    type: string").unwrap();
    }
    assert_eq!(yaml(&text).unwrap()[0]["properties"].as_object().unwrap().len(), 100_000);
}
