//! TLS settings: what a certificate must prove in each mode. Signatures of the handshake are checked in all of them, so
//! that the peer at least owns the certificate that it shows.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use perbuck_load::error::DriverError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::link::tls_refused;
use perbuck_database::server::TlsMode;

/// The same for gRPC, which wants to be told that HTTP/2 follows, with a certificate of our own where the target names one.
pub fn config_for_grpc(
    tls: TlsMode,
    ca_file: Option<&Path>,
    own: Option<(&Path, &Path)>,
) -> Result<Option<Arc<ClientConfig>>, DriverError> {
    Ok(config(tls, ca_file, own)?.map(|mut config| {
        config.alpn_protocols = vec![b"h2".to_vec()];
        Arc::new(config)
    }))
}

/// The settings for a target's `tls` and `ca`; none where TLS is disabled. They are made once, since parsing authorities takes longer
/// than a connection.
pub(crate) fn config(
    tls: TlsMode,
    ca_file: Option<&Path>,
    own: Option<(&Path, &Path)>,
) -> Result<Option<ClientConfig>, DriverError> {
    let provider = Arc::new(ring::default_provider());
    // A `ca` that is given is read in every mode: a wrong file name must not wait for the day when it matters.
    let roots = Arc::new(roots(ca_file)?);
    let verifier: Arc<dyn ServerCertVerifier> = match tls {
        TlsMode::Disabled => return Ok(None),
        TlsMode::Preferred | TlsMode::Required => Arc::new(Lenient { provider: provider.clone(), roots: None }),
        TlsMode::VerifyCa => Arc::new(Lenient { provider: provider.clone(), roots: Some(roots) }),
        TlsMode::VerifyIdentity => {
            let strict = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
            strict.map_err(|why| tls_refused(format!("the certificate authorities cannot be used: {why}")))?
        }
    };
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|why| tls_refused(format!("TLS cannot be set up: {why}")))?;
    // `dangerous` is rustls's name for bringing a verifier of one's own.
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let Some((cert, key)) = own else { return Ok(Some(builder.with_no_client_auth())) };
    let bad = |file: &Path, why: &dyn fmt::Display| {
        tls_refused(format!("{} cannot be used as our own certificate: {why}", file.display()))
    };
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
    let pem = std::fs::read(path).map_err(|why| tls_refused(format!("{name} cannot be read: {why}; {help}")))?;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|why| tls_refused(format!("{name} is not PEM: {why}; {help}")))?;
        roots.add(certificate).map_err(|why| tls_refused(format!("{name} holds an invalid certificate: {why}; {help}")))?;
    }
    if roots.is_empty() {
        return Err(tls_refused(format!("{name} holds no certificate; {help}")));
    }
    Ok(roots)
}

/// Accepts any certificate, or any that comes from a known authority, whatever the name in it.
struct Lenient {
    provider: Arc<CryptoProvider>,
    roots: Option<Arc<RootCertStore>>,
}

impl fmt::Debug for Lenient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.roots.is_some() { "VerifyCa" } else { "AnyCertificate" })
    }
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&certificate, roots, intermediates, now, algorithms)?;
        }
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
