//! Tests of connections: an own client, certificates, a proxy. No setting of the process changes.

use std::sync::Arc;

use haft_providers::{ConfigError, HttpModel, ModelConfig, reqwest};
use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::support::{ask, config};

const AUTHORITY: &str = include_str!("tls/ca.pem");

async fn start() -> (ModelServer, ModelConfig) {
    let server = ModelServer::start(WireFormat::Anthropic, vec![Scenario::text("hi")]).await;
    let config = config(&server, WireFormat::Anthropic, "claude-sonnet-4-6");
    (server, config)
}

/// Starts a TLS server in front of a server; returns its address.
async fn serve_tls(target: &ModelServer) -> String {
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(include_bytes!("tls/server.pem")).collect();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates.unwrap(), key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let port = target.port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust the certificate ends the connection.
            let Ok(mut client) = acceptor.accept(stream).await else { continue };
            let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
        }
    });
    address
}

#[tokio::test]
async fn own_certificates_are_trusted() {
    let (server, mut config) = start().await;
    config.base_url = Some(serve_tls(&server).await);
    let error =
        ask(&HttpModel::with_timeouts(config.clone(), crate::support::impatient()).unwrap(), "hello").await;
    assert!(error.1.is_err() && server.requests().is_empty(), "the certificate is not one of the system's");
    config.ca_certificates = Some(AUTHORITY.to_owned());
    ask(&HttpModel::new(config).unwrap(), "hello").await.1.unwrap();
    assert_eq!(server.requests().len(), 1);
    assert!(CryptoProvider::get_default().is_none(), "the process has no TLS provider");
}

#[tokio::test]
async fn requests_go_through_the_proxy() {
    let (server, mut config) = start().await;
    config.proxy = Some(server.base_url().replace("http://", "http://user:secret@"));
    config.base_url = Some("http://model.invalid".to_owned());
    ask(&HttpModel::new(config).unwrap(), "hello").await.1.unwrap();
    let sent = &server.requests()[0];
    assert_eq!(sent.path, "http://model.invalid/v1/messages");
    assert_eq!(sent.header("proxy-authorization"), Some("Basic dXNlcjpzZWNyZXQ="));
}

#[tokio::test]
async fn own_client_sends_the_requests() {
    let (server, config) = start().await;
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let client = reqwest::Client::builder().user_agent("own/1").no_proxy().tls_backend_preconfigured(tls);
    let model = HttpModel::with_client(config, client.build().unwrap()).unwrap();
    ask(&model, "hello").await.1.unwrap();
    assert_eq!(server.requests()[0].header("user-agent"), Some("own/1"));
    assert!(server.requests()[0].header("x-api-key").is_some());
}

#[tokio::test]
async fn wrong_settings_are_errors_at_once() {
    let (_server, config) = start().await;
    let provider = || "anthropic".to_owned();
    for pem in ["", "no certificate", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
        let wrong = ModelConfig { ca_certificates: Some(pem.to_owned()), ..config.clone() };
        assert_eq!(HttpModel::new(wrong).unwrap_err(), ConfigError::Certificates { provider: provider() });
    }
    let wrong = ModelConfig { proxy: Some("http://".to_owned()), ..config };
    assert_eq!(HttpModel::new(wrong).unwrap_err(), ConfigError::Proxy { provider: provider() });
}
