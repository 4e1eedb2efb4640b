//! What a server says, as XML.

use roxmltree::{Document, Node};

use crate::Object;

/// A page of a list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) objects: Vec<Object>,
    /// Where the next page starts, if there is one.
    pub(crate) next: Option<String>,
}

/// The text of the first element of that name.
pub(crate) fn element(body: &[u8], name: &str) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let document = Document::parse(text).ok()?;
    document.descendants().find(|node| node.has_tag_name(name)).and_then(text_of)
}

pub(crate) fn listed(body: &[u8]) -> Result<Listed, String> {
    let wrong = |why: String| format!("the list of objects cannot be read: {why}");
    let text = std::str::from_utf8(body).map_err(|e| wrong(e.to_string()))?;
    let document = Document::parse(text).map_err(|e| wrong(e.to_string()))?;
    let root = document.root_element();
    if root.tag_name().name() != "ListBucketResult" {
        return Err(wrong(format!("it is a {}", root.tag_name().name())));
    }
    let objects = root.children().filter(|node| node.tag_name().name() == "Contents").map(|node| {
        let size = child(node, "Size").and_then(|size| size.parse().ok());
        let (Some(key), Some(bytes)) = (child(node, "Key"), size) else {
            return Err(wrong("an object has no key or size".to_owned()));
        };
        Ok(Object { key, bytes })
    });
    let is_cut = child(root, "IsTruncated").is_some_and(|cut| cut == "true");
    let next = child(root, "NextContinuationToken").filter(|_| is_cut);
    if is_cut && next.is_none() {
        return Err(wrong("it goes on, and does not say where".to_owned()));
    }
    Ok(Listed { objects: objects.collect::<Result<_, _>>()?, next })
}

fn child(node: Node<'_, '_>, name: &str) -> Option<String> {
    node.children().find(|child| child.tag_name().name() == name).and_then(text_of)
}

fn text_of(node: Node<'_, '_>) -> Option<String> {
    node.text().map(str::to_owned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;

    #[test]
    fn lists_and_errors_are_read() {
        let page = r#"<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>
            <IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>
            <Contents><Key>a &amp; b</Key><Size>12</Size></Contents></ListBucketResult>"#;
        let read = listed(page.as_bytes()).unwrap();
        assert_eq!(read, Listed { objects: vec![Object { key: "a & b".to_owned(), bytes: 12 }], next: Some("t".to_owned()) });
        let error = b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>";
        assert_eq!(element(error, "Code").unwrap(), "NoSuchKey");
        assert!(listed(error).unwrap_err().contains("it is a Error"));
        let cut = page.replace("<NextContinuationToken>t</NextContinuationToken>", "");
        assert!(listed(cut.as_bytes()).unwrap_err().contains("does not say where"));
        assert!(listed(b"no XML").is_err() && element(b"\xff", "Code").is_none());
    }
}
