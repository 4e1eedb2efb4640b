//! `perbuck serve`: what it shows, and whom and what it refuses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::common::{Desk, LONG_ENOUGH, QUICK, edited, signal};

/// A server that ends with the test.
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Server {
    fn of(desk: &Desk, folder: &str) -> Self {
        let mut child = desk.command(&["serve", folder, "--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
        Self { child, port }
    }

    /// Status and the whole answer to a request line with a Host header.
    fn raw(&self, line: &str, host: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "{line} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.raw(&format!("GET {path}"), &format!("127.0.0.1:{}", self.port))
    }
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("s.toml", &edited(&[QUICK[0], LONG_ENOUGH]));
    desk.good(&["run", "s.toml"]);
    desk.write("eks.toml", include_str!("../../../../studies/published/tidb-eks-arm-2021.toml"));
    desk.good(&["replay", "eks.toml"]);
    desk.write("secret.toml", "a secret beside the results\n");
    desk
}

#[test]
fn studies_trials_reports_and_comparisons_are_shown() {
    let desk = desk();
    let server = Server::of(&desk, "results");
    let (status, index) = server.get("/");
    assert_eq!(status, 200);
    for text in
        ["<a href=\"/study?study=small\">small</a>", "4 of 4", "complete", "published numbers", "tidb-eks-arm-2021-published"]
    {
        assert!(index.contains(text), "{text}: {index}");
    }
    let study = server.get("/study?study=small").1;
    let answer = study.split("<p class=\"answer ").nth(1).unwrap().split_once('>').unwrap().1.split('<').next().unwrap();
    assert!(answer.len() > 20 && index.contains(&format!("<strong>{answer}</strong>")), "the answer stands in the list: {index}");
    trials_are_sorted(&desk, &server);
    let (_, trial) = server.get("/trial?study=small&trial=full/rw/c00001/001.json");
    assert!(
        trial.contains("full · rw · 1 connection · trial 1") && trial.contains("SQLite") | trial.contains("sqlite"),
        "{trial}"
    );
    for text in [
        "id=\"trial-throughput-title\"",
        "id=\"trial-p95-title\"",
        "id=\"trial-busy-title\"",
        ">client, mean</text>",
        "seconds since the measured window opened",
    ] {
        assert!(trial.contains(text), "{text}: {trial}");
    }
    desk.good(&["report", "results/small", "-o", "made"]);
    assert!(
        server.get("/report?study=small").1.ends_with(&desk.read("made/report.html")),
        "the report is the one of the command"
    );
    let published = server.get("/report?study=tidb-eks-arm-2021-published").1;
    assert!(published.contains("perbuck measured nothing here"));
    let both = "/compare?a=small%3A%3Afull/rw/c00001/001.json&b=small%3A%3Aoff/rw/c00001/002.json";
    let (_, both) = server.get(both);
    assert!(
        both.contains("The second gives") && both.contains("no interval and no verdict") && both.contains("differs"),
        "{both}"
    );
    // A study beside itself: nothing has become worse, and nothing has changed.
    let (_, same) = server.get("/studies?old=small&new=small");
    assert!(same.contains("No regression shown") && same.contains("New against old"), "{same}");
    let (_, published) = server.get("/studies?old=small&new=tidb-eks-arm-2021-published");
    assert!(published.contains("One of these studies is not there"), "{published}");
    assert!(server.get("/live.json?study=small").1.contains("\"state\":\"ended\""));
    let metrics = server.get("/metrics").1;
    for line in [
        "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n",
        "\nperbuck_study_trials_planned{study=\"small\"} 4\n",
        "\nperbuck_study_trials_done{study=\"small\"} 4\n",
        "\nperbuck_study_state{study=\"small\",state=\"ended\"} 1\n",
        "\nperbuck_transactions_total{study=\"small\",contender=\"full\",workload=\"rw\",connections=\"1\"} ",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    assert!(!metrics.contains("tidb-eks"), "a replay measures nothing");
}

/// The list of trials, by its headings: each column both ways, with the numbers of the records.
fn trials_are_sorted(desk: &Desk, server: &Server) {
    let records = desk.records("results/small");
    let shown = |sort: &str| {
        let (status, page) = server.get(&format!("/study?study=small&sort={sort}"));
        assert_eq!(status, 200);
        let links = page.split("<a href=\"/trial?study=small&amp;trial=").skip(1);
        (links.map(|rest| rest.split('"').next().unwrap().to_owned()).collect::<Vec<String>>(), page)
    };
    let (by_path, page) = shown("");
    assert_eq!(by_path, records.iter().map(|r| r.key.path()).collect::<Vec<_>>());
    assert!(page.contains("sort=-throughput") && !page.contains("aria-sort"), "{page}");
    let mut sorted = records.clone();
    sorted.sort_by_key(|a| a.latency().unwrap().percentile_ns(95.0));
    assert_eq!(shown("p95").0, sorted.iter().map(|r| r.key.path()).collect::<Vec<_>>());
    sorted.sort_by(|a, b| b.metric(b.workload.metric.metric()).total_cmp(&a.metric(a.workload.metric.metric())));
    let (fastest, page) = shown("-throughput");
    assert_eq!(fastest, sorted.iter().map(|r| r.key.path()).collect::<Vec<_>>());
    assert!(page.contains("aria-sort=\"descending\"") && page.contains("sort=throughput"), "{page}");
    assert_eq!(shown("nonsense").0, by_path);
}

/// Machines of a trial stand on its page as `perbuck facts` prints them; what differs from another trial is said, and which that is.
#[test]
fn facts_of_machines_are_shown_and_compared() {
    let desk = desk();
    let server = Server::of(&desk, "results");
    let page = |trial: &str| server.get(&format!("/trial?study=small&trial=full/rw/c00001/{trial}.json")).1;
    let first = page("001");
    assert!(first.contains("The other trial of this contender with this workload differs in no fact."), "{first}");
    let printed = desk.good(&["facts"]).out;
    let (_, shown) = first.split_once("<caption>The machine of client and server</caption>").unwrap();
    let head = "<th scope=\"col\">Of</th><th scope=\"col\">Fact</th><th scope=\"col\">Value</th>";
    assert!(shown.contains(head), "{shown}");
    let mut rest = shown;
    // What stands in the first column of the terminal is a group, and its order is the page's.
    for line in printed.lines().skip(2).filter(|line| !line.starts_with(' ')) {
        let group = line.split("  ").next().unwrap();
        let cell = format!("<th scope=\"row\">{group}</th>");
        rest = rest.split_once(&cell).unwrap_or_else(|| panic!("{cell}: {rest}")).1;
    }
    let path = "results/small/full/rw/c00001/002.json";
    let text = desk.read(path);
    let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
    record["host"]["facts"]["kernel"]["release"] = "6.0.0-planted".into();
    std::fs::write(desk.path(path), record.to_string()).unwrap();
    let first = page("001");
    for text in [
        "ran on machines with other facts",
        "<caption>Facts in which trials of this contender differ</caption>",
        "<td>release</td>",
        "<td>6.0.0-planted</td>",
        "trial=full/rw/c00001/002.json\">full/rw/c00001/002</a>",
    ] {
        assert!(first.contains(text), "{text}: {first}");
    }
    assert!(page("002").contains("full/rw/c00001/001</a>"));
}

#[test]
fn one_study_can_be_served_alone() {
    let desk = desk();
    std::fs::remove_file(desk.path("results/small/live.jsonl")).unwrap();
    let server = Server::of(&desk, "results/small");
    let metrics = server.get("/metrics").1;
    assert!(metrics.contains("\nperbuck_study_trials_done{study=\"small\"} 4\n"), "the records tell it: {metrics}");
    assert!(metrics.contains("\nperbuck_study_state{study=\"small\",state=\"idle\"} 1\n"), "{metrics}");
    assert!(server.get("/").1.contains("<a href=\"/study?study=.\">small</a>"));
    assert_eq!(server.get("/report?study=.").0, 200);
}

#[test]
fn strangers_changes_and_other_files_are_refused() {
    let desk = desk();
    let server = Server::of(&desk, "results");
    let host = format!("127.0.0.1:{}", server.port);
    assert_eq!(server.raw("GET /", "evil.example").0, 421);
    assert_eq!(server.raw("GET /metrics", "evil.example").0, 421);
    assert_eq!(server.raw("GET /", &format!("evil.example:{}", server.port)).0, 421);
    assert_eq!(server.raw("GET /", &format!("localhost:{}", server.port)).0, 200);
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        assert_eq!(server.raw(&format!("{method} /"), &host).0, 405);
    }
    let away = [
        "/../secret.toml",
        "/..%2fsecret.toml",
        "/study?study=..",
        "/study?study=../",
        "/report?study=..%2f..%2fetc",
        "/trial?study=small&trial=../../secret.toml",
        "/trial?study=small&trial=study.toml",
        "/trial?study=small&trial=/etc/passwd",
        "/trial?study=small&trial=full/rw/c00001/../c00001/001.json",
        "/live.json?study=../small",
        "/study.toml",
        "/small/study.toml",
    ];
    for path in away {
        let (status, answer) = server.get(path);
        assert!(status == 404 || status == 400, "{path}: {status}");
        assert!(!answer.contains("secret beside") && !answer.contains("root:"), "{path}: {answer}");
    }
    let (_, compared) = server.get("/compare?a=small%3A%3A../../secret.toml&b=..%3A%3Asecret.toml");
    assert!(compared.contains("One of these trials is not there") && !compared.contains("secret beside"), "{compared}");
    let (_, answer) = server.get("/");
    for header in ["default-src 'none'", "frame-ancestors 'none'", "nosniff", "no-store", "same-origin"] {
        assert!(answer.contains(header), "{header}");
    }
    let (status, head) = server.raw("HEAD /", &host);
    assert!(status == 200 && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    let desk = desk();
    desk.write("elsewhere/study.toml", &desk.read("s.toml"));
    std::os::unix::fs::symlink(desk.path("elsewhere"), desk.path("results/link")).unwrap();
    let server = Server::of(&desk, "results");
    assert!(!server.get("/").1.contains("study=link"));
    assert_eq!(server.get("/study?study=link").0, 404);
}

#[test]
fn a_folder_without_studies_and_a_taken_port_are_told() {
    let desk = desk();
    std::fs::create_dir(desk.path("empty")).unwrap();
    let ended = desk.perbuck(&["serve", "empty"]);
    assert_eq!((ended.code, ended.err.contains("holds no study")), (Some(5), true), "{ended:#?}");
    let server = Server::of(&desk, "results");
    let ended = desk.perbuck(&["serve", "results", "--port", &server.port.to_string()]);
    assert_eq!((ended.code, ended.err.contains("--port")), (Some(1), true), "{ended:#?}");
}

/// Beyond the queue the system drops a client's first packet, and it waits for a second. The queue had 128 places.
#[test]
fn many_clients_at_once_are_all_taken_in() {
    let desk = Desk::new();
    desk.write("eks.toml", include_str!("../../../../studies/published/tidb-eks-arm-2021.toml"));
    desk.good(&["replay", "eks.toml"]);
    let server = Server::of(&desk, "results");
    signal(&server.child, "STOP");
    let address = ([127, 0, 0, 1], server.port).into();
    let clients: Vec<_> = (0..400).map_while(|_| TcpStream::connect_timeout(&address, Duration::from_millis(700)).ok()).collect();
    signal(&server.child, "CONT");
    assert_eq!(clients.len(), 400);
}
