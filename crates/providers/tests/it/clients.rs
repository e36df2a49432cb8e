//! Tests of connections: an own client, certificates, a proxy. No setting of the process changes.

use std::sync::Arc;
use std::time::Duration;

use haft_providers::{ConfigError, HttpModel, ModelConfig, reqwest};
use haft_test_support::model_server::{AnswerFault, ModelServer, Scenario, WireFormat};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::support::{ask, config, impatient};

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
    let error = ask(&HttpModel::with_timeouts(config.clone(), impatient()).unwrap(), "hello").await;
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

fn own_client() -> reqwest::ClientBuilder {
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder().user_agent("own/1").no_proxy().tls_backend_preconfigured(tls)
}

#[tokio::test]
async fn own_client_sends_the_requests() {
    let (server, config) = start().await;
    let model = HttpModel::with_client_builder(config, impatient(), own_client()).unwrap();
    ask(&model, "hello").await.1.unwrap();
    assert_eq!(server.requests()[0].header("user-agent"), Some("own/1"));
    assert!(server.requests()[0].header("x-api-key").is_some());
}

/// Starts a server that redirects one request; returns its address.
async fn redirect_to(target: &ModelServer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let location = format!("{}/v1/messages", target.base_url());
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let _ = client.read(&mut [0; 64 * 1024]).await.unwrap();
        let answer = format!("HTTP/1.1 303 See Other\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        client.write_all(answer.as_bytes()).await.unwrap();
        // The client closes the connection.
        let _ = client.read(&mut [0]).await;
    });
    address
}

#[tokio::test]
async fn own_client_does_not_send_the_key_to_another_host() {
    let (server, mut config) = start().await;
    config.base_url = Some(redirect_to(&server).await);
    let client = own_client().redirect(reqwest::redirect::Policy::limited(3));
    let model = HttpModel::with_client_builder(config, impatient(), client).unwrap();
    let error = ask(&model, "hello").await.1.unwrap_err();
    assert!(error.message.contains("303"), "{error}");
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn own_client_has_the_idle_limit() {
    let silent = Scenario::new().fault(AnswerFault::Silent);
    let server = ModelServer::start(WireFormat::Anthropic, vec![silent]).await;
    let config = config(&server, WireFormat::Anthropic, "claude-sonnet-4-6");
    let mut timeouts = impatient();
    timeouts.idle = Duration::from_secs(1);
    let model = HttpModel::with_client_builder(config, timeouts, own_client()).unwrap();
    let error = ask(&model, "hello").await.1.unwrap_err();
    assert!(error.message.contains("did not respond in time"), "{error}");
}

#[tokio::test]
async fn wrong_settings_are_errors_at_once() {
    let (_server, config) = start().await;
    let provider = || "anthropic".to_owned();
    for pem in ["", "no certificate", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
        let mut wrong = config.clone();
        wrong.ca_certificates = Some(pem.to_owned());
        assert_eq!(HttpModel::new(wrong).unwrap_err(), ConfigError::Certificates { provider: provider() });
    }
    let mut wrong = config;
    wrong.proxy = Some("http://".to_owned());
    assert_eq!(HttpModel::new(wrong).unwrap_err(), ConfigError::Proxy { provider: provider() });
}
