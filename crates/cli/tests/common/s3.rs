//! A server of buckets that checks signatures, for one test.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{Desk, server, wait_until};

pub const KEY: &str = "perbuck-test-key";
/// It must be in no file and in no output.
pub const SECRET: &str = "hidden-f5a1c3d97b";
pub const BUCKET: &str = "prepared";

/// versitygw with one bucket; it ends with the test.
pub struct Gateway {
    child: Child,
    folder: tempfile::TempDir,
    pub port: u16,
}

impl Gateway {
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// One with these arguments before all others.
    pub fn with(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("root").join(BUCKET)).unwrap();
        fs::create_dir(folder.path().join("marks")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(server("PERBUCK_TEST_S3_PROGRAM"));
        command
            .env_clear()
            .env("ROOT_ACCESS_KEY", KEY)
            .env("ROOT_SECRET_KEY", SECRET)
            .args(arguments)
            .args(["--port", &format!("127.0.0.1:{port}")]);
        // What it notes of objects would be attributes of files, which not each file system has.
        command.args(["posix", "--sidecar"]).arg(folder.path().join("marks")).arg(folder.path().join("root"));
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let child = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let gateway = Self { child, folder, port };
        wait_until("the server of buckets listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        gateway
    }

    /// The variables by which perbuck finds it.
    pub fn tell(&self, desk: &mut Desk) {
        desk.set("AWS_ENDPOINT_URL", &format!("http://127.0.0.1:{}", self.port));
        desk.set("AWS_REGION", "us-east-1");
        desk.set("AWS_ACCESS_KEY_ID", KEY);
        desk.set("AWS_SECRET_ACCESS_KEY", SECRET);
    }

    /// The files of the objects whose keys start so.
    pub fn objects(&self, prefix: &str) -> Vec<PathBuf> {
        let (mut found, folder) = (Vec::new(), self.folder.path().join("root").join(BUCKET).join(prefix));
        if folder.exists() {
            super::files(&folder, &mut found);
        }
        found
    }

    pub fn file(&self, key: &str) -> PathBuf {
        Path::new(self.folder.path()).join("root").join(BUCKET).join(key)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}
