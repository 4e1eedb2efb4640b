//! Where the password of a contender comes from; never from the command line.

use std::path::Path;

use perbuck_core::study::Contender;
use perbuck_database::secret::Secret;

use super::AskPassword;
use crate::error::{LabError, upper};
use crate::inputs::read_text;

/// The password of a contender: environment, then file, then prompt; none is the empty password.
pub(super) fn password(contender: &Contender, ask: Option<AskPassword>) -> Result<Secret, LabError> {
    // A control is the system that it repeats, and has its password.
    let name = contender.control_of.as_ref().unwrap_or(&contender.name);
    let variable = format!("PERBUCK_{}_PASSWORD", name.chars().map(upper).collect::<String>());
    if let Some(given) = std::env::var_os(&variable) {
        return Ok(Secret::new(given.into_encoded_bytes()));
    }
    if let Some(file) = &contender.password_file {
        let mut text = read_text(&format!("the password of contender `{}` in", contender.name), Path::new(&file.value))?;
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
        return Ok(Secret::new(text));
    }
    if let Some(ask) = ask {
        let typed = ask(&contender.name);
        return typed
            .map(Secret::new)
            .map_err(|e| LabError::usage(format!("cannot ask for a password: {e}"), format!("put it into {variable} instead")));
    }
    Ok(Secret::default())
}
