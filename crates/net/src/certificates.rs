//! TLS settings: what a certificate must prove in each mode. Signatures of the handshake are checked in all of them, so
//! that the peer at least owns the certificate that it shows.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs, io};

use perbuck_database::fingerprint::Fingerprint;
use perbuck_database::server::TlsMode;
use perbuck_load::error::DriverError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256};

use crate::link::tls_refused;

/// What a target says of TLS.
#[derive(Debug, Clone, Copy)]
pub struct TlsOptions<'a> {
    /// How it is used.
    pub mode: TlsMode,
    /// A PEM file of certificate authorities, instead of the public ones.
    pub ca_file: Option<&'a Path>,
    /// The certificates that servers may show; none where no authority is replaced. Without it, messages do not speak of any.
    pub fingerprints: Option<&'a [Fingerprint]>,
    /// PEM files of a certificate of our own and its key.
    pub own: Option<(&'a Path, &'a Path)>,
}

/// The same for gRPC, which wants to be told that HTTP/2 follows.
pub fn config_for_grpc(options: TlsOptions<'_>) -> Result<Option<Arc<ClientConfig>>, DriverError> {
    Ok(config(options)?.map(|mut config| {
        config.alpn_protocols = vec![b"h2".to_vec()];
        Arc::new(config)
    }))
}

/// The settings for a target's options; none where TLS is disabled. They are made once, since parsing authorities takes longer
/// than a connection.
pub(crate) fn config(options: TlsOptions<'_>) -> Result<Option<ClientConfig>, DriverError> {
    let TlsOptions { mode, ca_file, fingerprints, own } = options;
    let provider = Arc::new(ring::default_provider());
    // A `ca` that is given is read in every mode: a wrong file name must not wait for the day when it matters.
    let roots = Arc::new(roots(ca_file)?);
    if mode == TlsMode::Disabled {
        return Ok(None);
    }
    let verifier = Arc::new(Verifier::new(mode, fingerprints, roots, provider.clone())?);
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|why| tls_refused(format!("TLS cannot be set up: {why}")))?;
    // `dangerous` is rustls's name for bringing a verifier of one's own.
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let Some((cert, key)) = own else { return Ok(Some(builder.with_no_client_auth())) };
    let bad = |file: &Path, why: &dyn fmt::Display| {
        tls_refused(format!("{} cannot be used as our own certificate: {why}", file.display()))
    };
    [cert, key].into_iter().try_for_each(|file| plain_file(file).map_err(|why| bad(file, &why)))?;
    let chain =
        CertificateDer::pem_file_iter(cert).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(|why| bad(cert, &why))?;
    // The words of the error name no byte of the key.
    let key = PrivateKeyDer::from_pem_file(key).map_err(|why| bad(key, &why))?;
    builder.with_client_auth_cert(chain, key).map(Some).map_err(|why| bad(cert, &why))
}

fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, DriverError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = ca_file else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(roots);
    };
    let name = path.display();
    let help = "`ca` of the target must name a PEM file of certificates";
    let pem = plain_file(path)
        .and_then(|()| fs::read(path))
        .map_err(|why| tls_refused(format!("{name} cannot be read: {why}; {help}")))?;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|why| tls_refused(format!("{name} is not PEM: {why}; {help}")))?;
        roots.add(certificate).map_err(|why| tls_refused(format!("{name} holds an invalid certificate: {why}; {help}")))?;
    }
    if roots.is_empty() {
        return Err(tls_refused(format!("{name} holds no certificate; {help}")));
    }
    Ok(roots)
}

/// Refuses what is read once, or never ends.
fn plain_file(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_file() { Ok(()) } else { Err(io::Error::other("it is no plain file")) }
}

pub(crate) fn fingerprint(certificate: &CertificateDer<'_>) -> Fingerprint {
    Fingerprint(Sha256::digest(certificate).into())
}

/// What makes a certificate good.
enum Trust {
    /// Nothing: any is taken.
    Any,
    /// It is one of these.
    Fingerprints(Vec<Fingerprint>),
    /// It comes from a known authority, whatever the name in it.
    Authority(Arc<RootCertStore>),
    /// The same, and it carries the host's name.
    Identity(Arc<WebPkiServerVerifier>),
}

struct Verifier {
    provider: Arc<CryptoProvider>,
    trust: Trust,
    /// Whether the user may write a fingerprint instead.
    takes_fingerprints: bool,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}

/// What an error of TLS says of the certificate, with the way out; none where it is about something else.
pub(crate) fn distrust(error: &Error) -> Option<&str> {
    let Error::InvalidCertificate(CertificateError::Other(OtherError(why))) = error else { return None };
    why.downcast_ref::<DriverError>().map(|why| why.message.as_str())
}

/// What rustls found, in words.
fn in_words(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => "it comes from no authority that perbuck knows".to_owned(),
        Error::InvalidCertificate(why) => {
            let text = why.to_string();
            // rustls has no case of its own for a certificate that is its own authority.
            if text.contains("CaUsedAsEndEntity") { "it is self-signed".to_owned() } else { text }
        }
        Error::General(why) => why.clone(),
        other => other.to_string(),
    }
}

impl Verifier {
    fn new(
        mode: TlsMode,
        fingerprints: Option<&[Fingerprint]>,
        roots: Arc<RootCertStore>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, DriverError> {
        let trust = match (mode, fingerprints.unwrap_or_default()) {
            (TlsMode::VerifyCa, _) => Trust::Authority(roots),
            (TlsMode::VerifyIdentity, _) => {
                let strict = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
                Trust::Identity(strict.map_err(|why| tls_refused(format!("the certificate authorities cannot be used: {why}")))?)
            }
            (_, []) => Trust::Any,
            (_, named) => Trust::Fingerprints(named.to_vec()),
        };
        Ok(Self { provider, trust, takes_fingerprints: fingerprints.is_some() })
    }

    fn check(
        &self,
        shown: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        match &self.trust {
            Trust::Any => Ok(()),
            Trust::Fingerprints(named) if named.contains(&fingerprint(shown)) => Ok(()),
            Trust::Fingerprints(_) => Err(Error::General(
                "`tls_fingerprint` names another one, so the server has a new certificate, or another server answers".to_owned(),
            )),
            Trust::Authority(roots) => {
                let certificate = ParsedCertificate::try_from(shown)?;
                let algorithms = self.provider.signature_verification_algorithms.all;
                verify_server_cert_signed_by_trust_anchor(&certificate, roots, chain, now, algorithms)
            }
            Trust::Identity(strict) => strict.verify_server_cert(shown, chain, name, &[], now).map(|_| ()),
        }
    }

    /// The error of a certificate that is not good: what is wrong, which one it is, and what to write if it is the right one.
    fn distrusts(&self, shown: &CertificateDer<'_>, error: &Error) -> Error {
        let (why, seen) = (in_words(error), fingerprint(shown));
        let instead = if matches!(self.trust, Trust::Fingerprints(_)) { "" } else { " in place of `tls`" };
        let message = if self.takes_fingerprints {
            format!("{why}. If the server's own certificate has this fingerprint, write `tls_fingerprint={seen}`{instead}")
        } else {
            format!("{why} ({seen}). Name its authority by `ca` of the target")
        };
        Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(tls_refused(message)))))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let checked = self.check(end_entity, intermediates, name, now);
        checked.map_err(|error| self.distrusts(end_entity, &error))?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `openssl req -x509` makes one, for a hundred years.
    const SELF_SIGNED: &[u8] = b"\
-----BEGIN CERTIFICATE-----\n\
MIIBfzCCASWgAwIBAgIUcAzX4mx77pTtPchWMGrTW8LDdc4wCgYIKoZIzj0EAwIw\n\
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMzIyMjQyOVoYDzIxMjYxMDMw\n\
MjIyNDI5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO\n\
PQMBBwNCAAR70KHT9hI2h4mkVWJnFhdB1OmdPCFnFL7JMIb35m5YRDlHBIiMjG9t\n\
hw6ENOKi82fVQ0VMbJFFYH9DplafxEINo1MwUTAdBgNVHQ4EFgQUvYxMxJsRUjOa\n\
CBDKDoWf1hVfBjswHwYDVR0jBBgwFoAUvYxMxJsRUjOaCBDKDoWf1hVfBjswDwYD\n\
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEA0gU+FVjENs+gSZIWFr6S\n\
IPBU+/kAEs2PaQZcXNeiRkQCIDNmYgMhOqTCwI6q1u0WBwzPVgoN+NGV4IhI/AdU\n\
hWu8\n\
-----END CERTIFICATE-----\n";

    #[test]
    fn a_pipe_or_a_device_is_no_file_of_certificates() {
        // Without the check `/dev/zero` is read for ever, and so is a pipe that nothing writes to.
        let why = roots(Some(Path::new("/dev/zero"))).unwrap_err().to_string();
        assert!(why.contains("/dev/zero cannot be read: it is no plain file"), "{why}");
        let own = Some((Path::new("/dev/zero"), Path::new("/dev/zero")));
        let why = config(TlsOptions { mode: TlsMode::Required, ca_file: None, fingerprints: None, own }).unwrap_err().to_string();
        assert!(why.contains("/dev/zero cannot be used as our own certificate: it is no plain file"), "{why}");
    }

    fn refusal(mode: TlsMode, fingerprints: Option<&[Fingerprint]>) -> Option<String> {
        let (roots, provider) = (Arc::new(roots(None).unwrap()), Arc::new(ring::default_provider()));
        let verifier = Verifier::new(mode, fingerprints, roots, provider).unwrap();
        let shown = CertificateDer::from_pem_slice(SELF_SIGNED).unwrap();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(2_000_000_000));
        let checked = verifier.verify_server_cert(&shown, &[], &ServerName::try_from("localhost").unwrap(), &[], now);
        checked.err().map(|error| distrust(&error).unwrap().to_owned())
    }

    /// What openssl printed of that certificate.
    const PRINTED: &str =
        "sha256:6A:06:CA:A0:59:CF:82:04:D6:61:5C:0B:78:F8:01:EB:C7:7F:FF:23:F4:DE:59:D9:34:78:6A:3E:72:ED:AE:57";

    #[test]
    fn a_self_signed_certificate_is_called_so_and_taken_by_its_fingerprint() {
        for mode in [TlsMode::VerifyCa, TlsMode::VerifyIdentity] {
            let why = refusal(mode, Some(&[])).unwrap();
            assert!(why.starts_with("it is self-signed. If "), "{why}");
            assert!(why.ends_with(&format!("write `tls_fingerprint={PRINTED}` in place of `tls`")), "{why}");
            // TiKV's targets know no fingerprint.
            let why = refusal(mode, None).unwrap();
            assert!(
                why.starts_with("it is self-signed (sha256:6A:06:")
                    && why.contains("by `ca` of the target")
                    && !why.contains("tls_fingerprint"),
                "{why}"
            );
        }
        let (right, wrong) = (Fingerprint::parse(PRINTED).unwrap(), Fingerprint([7; 32]));
        assert_eq!(refusal(TlsMode::Required, Some(&[wrong, right])), None);
        let why = refusal(TlsMode::Required, Some(&[wrong])).unwrap();
        assert!(
            why.starts_with("`tls_fingerprint` names another one")
                && why.ends_with(&format!("write `tls_fingerprint={PRINTED}`")),
            "{why}"
        );
    }
}
