//! Errors about credentials without the output of a plugin or the text of a kubeconfig. No I/O.

use kube::Error;
use kube::client::AuthError;
use kube::config::KubeconfigError;

/// The error without lines of the file around it, one of which may be a token or a key.
pub(super) fn unquoted(error: &KubeconfigError) -> String {
    let KubeconfigError::Parse(error) = error else { return error.to_string() };
    let place = error.location().map(|at| format!(" (line {}, column {})", at.line(), at.column()));
    format!("it is not the YAML of a kubeconfig{}", place.unwrap_or_default())
}

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

#[cfg(test)]
mod tests {
    use kube::config::Kubeconfig;

    use super::*;

    #[test]
    fn what_is_said_of_a_broken_kubeconfig_names_the_place_and_repeats_no_line_of_it() {
        for broken in [
            "users:\n- name: a\n  user:\n    token: SECRET\n   client-key-data: SECRET\n",
            "users:\n- name: a\n  user:\n    token: \"SECRET\n",
            "users:\n- name: a\n  user:\n    token: [SECRET]\n",
            "users: SECRET\n",
        ] {
            let error = Kubeconfig::from_yaml(broken).unwrap_err();
            assert!(error.to_string().contains("SECRET"), "{error}");
            let said = unquoted(&error);
            assert!(!said.contains("SECRET") && said.contains("(line "), "{said}");
        }
    }
}
