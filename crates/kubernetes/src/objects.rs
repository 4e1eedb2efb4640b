//! Apply, read, list and delete.

use std::collections::BTreeSet;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::api::{Api, Applied, Change, Found, Kind};
use crate::discovery::Resource;
use crate::error::{ApiError, ErrorKind};
use crate::request::{Accept, Request, encoded};

/// Objects in one answer of a list.
const PAGE: usize = 500;
/// Groups whose events carry the labels of nothing.
const EVENT_GROUPS: [&str; 2] = ["", "events.k8s.io"];

/// An object as messages name it.
fn named(kind: &Kind, namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{} {namespace}/{name}", kind.kind),
        None => format!("{} {name}", kind.kind),
    }
}

/// What a controller or the server changes by itself is no change of the object.
fn essence(object: &Value) -> Value {
    let mut object = object.clone();
    object["status"] = Value::Null;
    for field in ["resourceVersion", "managedFields", "generation"] {
        object["metadata"][field] = Value::Null;
    }
    object
}

fn text<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.pointer(field).and_then(Value::as_str)
}

impl Api {
    /// Applies an object on the server (server-side apply): the fields that it names become as it says, also those of other managers. A field
    /// that the server does not know is an error.
    ///
    /// # Errors
    /// The object lacks kind, name or namespace; the server cannot be reached or refuses.
    pub fn apply(&self, object: &Value, manager: &str) -> Result<Applied, ApiError> {
        let (Some(version), Some(kind), Some(name)) =
            (text(object, "/apiVersion"), text(object, "/kind"), text(object, "/metadata/name"))
        else {
            return Err(ApiError::invalid("an object needs apiVersion, kind and metadata.name"));
        };
        let (kind, namespace) = (Kind::of(version, kind), text(object, "/metadata/namespace"));
        let (title, path) = self.path(&kind, namespace, name)?;
        let before = self.read(&title, &path)?;
        let answer = self.request(&Request {
            object: &title,
            method: Method::PATCH,
            path: format!("{path}?fieldManager={}&force=true&fieldValidation=Strict", encoded(manager)),
            accept: Accept::Whole,
            body: Some(("application/apply-patch+yaml", object.to_string().into_bytes())),
        })?;
        let change = match before {
            _ if answer.status == StatusCode::CREATED => Change::Created,
            Some(before) if essence(&before) == essence(&answer.body) => Change::Unchanged,
            _ => Change::Changed,
        };
        Ok(Applied { change, warnings: answer.warnings, object: answer.body })
    }

    /// Merges a patch into an object (RFC 7386): a null takes a field away, whoever set it. False where the object does not exist.
    ///
    /// # Errors
    /// The server cannot be reached, refuses, or does not know the kind; the patch has the `resourceVersion` of another time.
    pub fn merge(
        &self,
        (kind, namespace, name): (&Kind, Option<&str>, &str),
        patch: &Value,
        manager: &str,
    ) -> Result<bool, ApiError> {
        let (title, path) = self.path(kind, namespace, name)?;
        let path = format!("{path}?fieldManager={}&fieldValidation=Strict", encoded(manager));
        let body = Some(("application/merge-patch+json", patch.to_string().into_bytes()));
        match self.request(&Request { object: &title, method: Method::PATCH, path, accept: Accept::Whole, body }) {
            Ok(_) => Ok(true),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads an object; none where it does not exist.
    ///
    /// # Errors
    /// The server cannot be reached, refuses, or does not know the kind.
    pub fn get(&self, kind: &Kind, namespace: Option<&str>, name: &str) -> Result<Option<Value>, ApiError> {
        let (title, path) = self.path(kind, namespace, name)?;
        self.read(&title, &path)
    }

    /// Lists the objects that a label selector selects, in one namespace or in all. An empty selector selects all of the kind.
    ///
    /// # Errors
    /// The server cannot be reached, refuses, or does not know the kind.
    pub fn list(&self, kind: &Kind, namespace: Option<&str>, label_selector: &str) -> Result<Vec<Value>, ApiError> {
        let resource = self.resource(kind)?;
        let mut items = self.pages(&resource, namespace, label_selector, Accept::Whole)?;
        for item in &mut items {
            // Objects in a list do not repeat what the list says of all.
            item["apiVersion"] = json!(kind.api_version);
            item["kind"] = json!(kind.kind);
        }
        Ok(items)
    }

    /// Deletes an object; false where it does not exist. What it owns is deleted before it, so it may still be there for a while.
    ///
    /// # Errors
    /// The server cannot be reached, refuses, or does not know the kind.
    pub fn delete(&self, kind: &Kind, namespace: Option<&str>, name: &str) -> Result<bool, ApiError> {
        let (title, path) = self.path(kind, namespace, name)?;
        let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground" });
        let body = Some(("application/json", options.to_string().into_bytes()));
        let request = Request { object: &title, method: Method::DELETE, path, accept: Accept::Whole, body };
        match self.request(&request) {
            Ok(_) => Ok(true),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The objects of every kind that a label selector selects, custom kinds included. Events are left out, and so are kinds of which no
    /// object can be deleted.
    ///
    /// # Errors
    /// The selector is empty; the server cannot be reached, or refuses to list a kind.
    pub fn labelled(&self, label_selector: &str) -> Result<Vec<Found>, ApiError> {
        if label_selector.trim().is_empty() {
            return Err(ApiError::invalid("an empty label selector selects everything in the cluster"));
        }
        self.discover()?;
        let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
        for resource in self.resources.borrow().iter() {
            let event = resource.kind.kind == "Event" && EVENT_GROUPS.contains(&resource.group.as_str());
            // Versions of a kind are views of the same objects. A stale kind is served by another program, which keeps its own objects.
            if !resource.listed || resource.stale || event || !seen.insert((&resource.group, &resource.plural)) {
                continue;
            }
            let items = match self.pages(resource, None, label_selector, Accept::Metadata) {
                // The kind was removed after it was read, or lists nothing.
                Err(error) if error.kind == ErrorKind::NotFound => continue,
                items => items?,
            };
            found.extend(items.iter().filter_map(|item| {
                let namespace = text(item, "/metadata/namespace").map(str::to_owned);
                Some(Found { kind: resource.kind.clone(), namespace, name: text(item, "/metadata/name")?.to_owned() })
            }));
        }
        Ok(found)
    }

    /// An object as messages name it, and its path.
    fn path(&self, kind: &Kind, namespace: Option<&str>, name: &str) -> Result<(String, String), ApiError> {
        let resource = self.resource(kind)?;
        let title = named(kind, namespace.filter(|_| resource.namespaced), name);
        // The path of an object without a name is that of all objects.
        if name.is_empty() || name == "." || name == ".." {
            return Err(ApiError::invalid(format!("{}: `{name}` is no name", kind.kind)));
        }
        if resource.namespaced && namespace.is_none_or(str::is_empty) {
            return Err(ApiError::invalid(format!("{title}: a {} needs a namespace", kind.kind)));
        }
        let path = format!("{}/{}", resource.path(namespace.map(encoded).as_deref()), encoded(name));
        Ok((title, path))
    }

    fn read(&self, title: &str, path: &str) -> Result<Option<Value>, ApiError> {
        match self.request(&Request::get(title, path, Accept::Whole)) {
            Ok(answer) => Ok(Some(answer.body)),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All pages of a list.
    fn pages(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &str,
        accept: Accept,
    ) -> Result<Vec<Value>, ApiError> {
        let title = format!("the list of {}", resource.plural);
        let path = resource.path(namespace.map(encoded).as_deref());
        let (mut items, mut next) = (Vec::new(), String::new());
        loop {
            let page = format!("{path}?limit={PAGE}&labelSelector={}&continue={}", encoded(selector), encoded(&next));
            let mut body = self.request(&Request::get(&title, page, accept))?.body;
            if let Some(more) = body["items"].as_array_mut() {
                items.append(more);
            }
            next = text(&body, "/metadata/continue").unwrap_or_default().to_owned();
            if next.is_empty() {
                return Ok(items);
            }
        }
    }
}
