//! Errors about credentials without the output of a plugin. No I/O.

use kube::Error;
use kube::client::AuthError;

/// The error in a form that may be logged and stored: the output of a credential plugin may contain its token.
pub(super) fn redacted(error: Error) -> Error {
    match error {
        Error::Auth(error) => Error::Auth(hushed(error)),
        Error::Service(error) => match error.downcast::<AuthError>() {
            Ok(error) => Error::Auth(hushed(*error)),
            Err(error) => Error::Service(error),
        },
        error => error,
    }
}

fn hushed(error: AuthError) -> AuthError {
    match error {
        AuthError::AuthExecRun { out, .. } => {
            AuthError::AuthExec(format!("the credential plugin of the kubeconfig failed ({})", out.status))
        }
        AuthError::AuthExecParse(_) => {
            AuthError::AuthExec("the credential plugin of the kubeconfig prints no ExecCredential".to_owned())
        }
        error => error,
    }
}
