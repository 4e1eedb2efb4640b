//! Where the password of a contender comes from; never from the command line.

use std::path::Path;

use perbuck_core::study::Contender;
use perbuck_drivers::secret::Secret;

use crate::error::{CliError, Exit, upper};
use crate::inputs::read_text;

/// The password of a contender: environment, then file, then prompt; none is the empty password.
pub(super) fn password(contender: &Contender, ask: bool) -> Result<Secret, CliError> {
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
    if ask {
        let typed = rpassword::prompt_password(format!("Password of contender {}: ", contender.name));
        return typed.map(Secret::new).map_err(|e| {
            CliError::new(Exit::Usage, format!("cannot ask for a password: {e}"), format!("put it into {variable} instead"))
        });
    }
    Ok(Secret::default())
}
