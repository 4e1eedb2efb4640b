//! What the server offers: for each kind its path, and whether its objects lie in namespaces.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::api::{Api, Kind};
use crate::error::{ApiError, ErrorKind};
use crate::request::{Accept, Request};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How long the server may take to offer a kind whose definition it has. It takes about a second.
const OFFER_LIMIT: Duration = Duration::from_secs(10);
const PERIOD: Duration = Duration::from_millis(200);

/// One kind as the server offers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) kind: Kind,
    pub(crate) group: String,
    /// The name in paths, such as `statefulsets`.
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
    /// Whether its objects can be listed and deleted one by one.
    pub(crate) listed: bool,
    /// Whether the program that serves it did not answer the server.
    pub(crate) stale: bool,
}

impl Resource {
    /// The path of all its objects, or of those in one namespace.
    pub(crate) fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "api" } else { "apis" };
        match namespace {
            Some(name) if self.namespaced => format!("/{root}/{}/namespaces/{name}/{}", self.kind.api_version, self.plural),
            _ => format!("/{root}/{}/{}", self.kind.api_version, self.plural),
        }
    }
}

/// The resources of an `APIGroupDiscoveryList`, in the server's order: the preferred version of a group first.
pub(crate) fn resources(list: &Value) -> Vec<Resource> {
    let each = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for group in each(&list["items"]) {
        let name = group["metadata"]["name"].as_str().unwrap_or_default();
        for version in each(&group["versions"]) {
            let number = version["version"].as_str().unwrap_or_default();
            let api_version = if name.is_empty() { number.to_owned() } else { format!("{name}/{number}") };
            for resource in each(&version["resources"]) {
                let (Some(plural), Some(kind)) = (resource["resource"].as_str(), resource["responseKind"]["kind"].as_str())
                else {
                    continue;
                };
                let can = |verb: &str| each(&resource["verbs"]).iter().any(|v| v == verb);
                found.push(Resource {
                    kind: Kind::of(&api_version, kind),
                    group: name.to_owned(),
                    plural: plural.to_owned(),
                    namespaced: resource["scope"] == "Namespaced",
                    listed: can("list") && can("delete"),
                    stale: version["freshness"] == "Stale",
                });
            }
        }
    }
    found
}

impl Api {
    /// The resource of a kind. A kind that is not known yet makes it ask the server.
    pub(crate) fn resource(&self, kind: &Kind) -> Result<Resource, ApiError> {
        let known = |api: &Self| api.resources.borrow().iter().find(|r| r.kind == *kind).cloned();
        if let Some(resource) = known(self) {
            return Ok(resource);
        }
        self.discover()?;
        let start = Instant::now();
        // A definition that was applied a moment before is offered a moment later.
        while known(self).is_none() && start.elapsed() < OFFER_LIMIT && self.is_defined(kind)? {
            sleep(PERIOD);
            self.discover()?;
        }
        known(self).ok_or_else(|| {
            let message = format!("{} offers no kind {kind}", self.server);
            ApiError::new(
                ErrorKind::NotFound,
                message,
                format!("`{} api-resources` lists the kinds; a custom one needs its definition", self.kubectl),
            )
        })
    }

    /// Reads what the server offers.
    pub(crate) fn discover(&self) -> Result<(), ApiError> {
        let mut found = Vec::new();
        for path in ["/api", "/apis"] {
            let list = self.request(&Request::get("the list of kinds", path, Accept::Discovery))?.body;
            if list["kind"] != "APIGroupDiscoveryList" {
                let message = format!("{} does not list its kinds in one answer", self.server);
                return Err(ApiError::new(ErrorKind::Other, message, "perbuck needs Kubernetes 1.30 or later"));
            }
            found.extend(resources(&list));
        }
        *self.resources.borrow_mut() = found;
        Ok(())
    }

    /// Whether the server has a definition of this custom kind. A user who may not read definitions has none to wait for.
    fn is_defined(&self, kind: &Kind) -> Result<bool, ApiError> {
        let Some((group, version)) = kind.api_version.split_once('/') else { return Ok(false) };
        let list = match self.request(&Request::get("the definitions of custom kinds", DEFINITIONS, Accept::Whole)) {
            Ok(answer) => answer.body,
            Err(error) if error.kind == ErrorKind::Forbidden => return Ok(false),
            Err(error) => return Err(error),
        };
        let serves = |spec: &Value| {
            spec["versions"].as_array().is_some_and(|all| all.iter().any(|v| v["name"] == version && v["served"] == true))
        };
        let defines = |item: &Value| {
            let spec = &item["spec"];
            spec["group"] == group && spec["names"]["kind"] == kind.kind.as_str() && serves(spec)
        };
        Ok(list["items"].as_array().is_some_and(|items| items.iter().any(defines)))
    }
}
