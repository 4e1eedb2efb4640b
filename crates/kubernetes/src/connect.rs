//! From a kubeconfig to a connection.

use std::cell::RefCell;
use std::env;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::api::Api;
use crate::error::{ApiError, ErrorKind, cause};
use crate::event_loop::EventLoop;
use crate::request::{BoxError, LIMIT};

/// The limit of a connect.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Which server, and as which user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// The kubeconfig. None: the user's own (`KUBECONFIG`, else `~/.kube/config`), else the service account of this pod.
    pub kubeconfig: Option<PathBuf>,
    /// The context in it. None: the current one.
    pub name: Option<String>,
}

/// A configuration, and `kubectl` with the options that use the same.
struct Chosen {
    config: Config,
    kubectl: String,
}

impl Api {
    /// Connects, and asks for the version of the server to see that the login works.
    ///
    /// # Errors
    /// The kubeconfig or its credentials cannot be used, or the server does not answer.
    pub fn connect(context: &Context) -> Result<Self, ApiError> {
        let event_loop = EventLoop::new()?;
        let late = || {
            ApiError::new(ErrorKind::Timeout, "the kubeconfig cannot be read in time", "check the file system that it lies on")
        };
        let chosen = event_loop.within(LIMIT, choose(context)).ok_or_else(late)??;
        let server = chosen.config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let api = Self {
            client: client(&event_loop, chosen.config, &server, &chosen.kubectl)?,
            event_loop,
            server,
            kubectl: chosen.kubectl,
            resources: RefCell::default(),
        };
        api.server_version()?;
        Ok(api)
    }
}

/// The client of a configuration. It may start the program that gives the credentials, which gets a limit like a request.
pub(crate) fn client(event_loop: &EventLoop, mut config: Config, server: &str, kubectl: &str) -> Result<Client, ApiError> {
    config.connect_timeout = Some(CONNECT_LIMIT);
    // kube would repeat a request to a busy server until the limit, and the server's own words would be lost.
    config.default_retry = false;
    let help = || format!("`{kubectl} version` must reach it");
    // To start the task needs the loop, so it is started within.
    let made = event_loop.within(LIMIT, async { tokio::task::spawn_blocking(move || Client::try_from(config)).await });
    let error: BoxError = match made {
        Some(Ok(Ok(client))) => return Ok(client),
        Some(Ok(Err(error))) => error.into(),
        Some(Err(error)) => error.into(),
        None => {
            let message = format!("the program that gives the credentials for {server} did not end within {} s", LIMIT.as_secs());
            return Err(ApiError::new(ErrorKind::Timeout, message, help()));
        }
    };
    let (_, why) = cause(error.as_ref());
    Err(ApiError::new(ErrorKind::Config, format!("no login to {server}: {why}"), help()))
}

async fn choose(context: &Context) -> Result<Chosen, ApiError> {
    let (source, read) = match &context.kubeconfig {
        Some(path) => (path.display().to_string(), Kubeconfig::read_from(path)),
        None => (usual(), Kubeconfig::read()),
    };
    let file = match read {
        Ok(file) => file,
        Err(error) if context.kubeconfig.is_none() && context.name.is_none() && is_absent(&error) => return in_pod(&source),
        Err(error) => return Err(unusable(&source, &error)),
    };
    let name = context_name(context, &file, &source)?;
    let options = KubeConfigOptions { context: Some(name.clone()), ..KubeConfigOptions::default() };
    let own_proxy = has_own_proxy(&file, &name);
    let mut config = Config::from_custom_kubeconfig(file, &options).await.map_err(|error| unusable(&source, &error))?;
    // kube compares NO_PROXY with the address of the proxy; what it is meant for is the server.
    if !own_proxy && proxy(&config.cluster_url).is_none() {
        config.proxy_url = None;
    }
    let option = context.kubeconfig.as_ref().map(|path| format!(" --kubeconfig {}", path.display())).unwrap_or_default();
    Ok(Chosen { config, kubectl: format!("kubectl{option} --context {name}") })
}

/// Where kubectl finds the kubeconfig.
fn usual() -> String {
    match env::var("KUBECONFIG") {
        Ok(paths) if !paths.is_empty() => paths,
        _ => "~/.kube/config".to_owned(),
    }
}

fn is_absent(error: &KubeconfigError) -> bool {
    match error {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(error, _) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// The service account of the pod that this program runs in.
fn in_pod(source: &str) -> Result<Chosen, ApiError> {
    let config = Config::incluster().map_err(|_| {
        let message = format!("no Kubernetes cluster: there is no {source}, and this is no pod of a cluster");
        ApiError::new(ErrorKind::Config, message, "name a kubeconfig, or make one with the tool of your provider")
    })?;
    Ok(Chosen { config, kubectl: "kubectl".to_owned() })
}

fn unusable(source: &str, error: &KubeconfigError) -> ApiError {
    let why = match error {
        // The reader of YAML quotes the lines around a mistake, and a token may be among them.
        KubeconfigError::Parse(error) => match error.location() {
            Some(location) => format!("line {} is no YAML of a kubeconfig", location.line()),
            None => "it is no YAML of a kubeconfig".to_owned(),
        },
        KubeconfigError::ReadConfig(error, path) => format!("cannot read {}: {error}", path.display()),
        other => other.to_string(),
    };
    ApiError::new(ErrorKind::Config, format!("kubeconfig {source}: {why}"), "`kubectl config view` must read it")
}

/// The context to use, which the kubeconfig must have.
fn context_name(context: &Context, file: &Kubeconfig, source: &str) -> Result<String, ApiError> {
    let names: Vec<&str> = file.contexts.iter().map(|c| c.name.as_str()).collect();
    let listed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let wrong = |what: String| {
        let message = format!("kubeconfig {source}: {what}; it has {listed}");
        ApiError::new(ErrorKind::Config, message, "name a context that it has, or add one with the tool of your provider")
    };
    match (&context.name, &file.current_context) {
        (Some(name), _) if names.contains(&name.as_str()) => Ok(name.clone()),
        (Some(name), _) => Err(wrong(format!("no context `{name}`"))),
        (None, Some(name)) if names.contains(&name.as_str()) => Ok(name.clone()),
        (None, Some(name)) if !name.is_empty() => Err(wrong(format!("its current context `{name}` does not exist"))),
        (None, _) => Err(wrong("no current context".to_owned())),
    }
}

fn has_own_proxy(file: &Kubeconfig, context: &str) -> bool {
    let chosen = file.contexts.iter().find(|c| c.name == context).and_then(|c| c.context.as_ref());
    let cluster = chosen.and_then(|c| file.clusters.iter().find(|named| named.name == c.cluster));
    cluster.and_then(|named| named.cluster.as_ref()).and_then(|c| c.proxy_url.as_ref()).is_some_and(|url| !url.is_empty())
}

/// The proxy that the environment names for this address: HTTPS_PROXY without the hosts of NO_PROXY.
pub(crate) fn proxy(url: &Uri) -> Option<Uri> {
    Matcher::from_env().intercept(url)?;
    ["HTTPS_PROXY", "https_proxy"].iter().find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))?.parse().ok()
}
