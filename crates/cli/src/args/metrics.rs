//! How a run is watched.

use std::net::SocketAddr;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct MetricsArguments {
    /// Serve metrics of the run for Prometheus at this address and port, such as 127.0.0.1:9464; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", conflicts_with = "driver", value_parser = address)]
    pub(crate) metrics: Option<SocketAddr>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write it as an IP address and a port, such as 127.0.0.1:9464".to_owned())
}
