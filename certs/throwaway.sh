#!/usr/bin/env sh
# Makes a CA and a serving certificate for trying and testing, with openssl.
#
#   certs/throwaway.sh DIRECTORY [NAME...]
#
# DIRECTORY gets ca.crt, ca.key, tls.crt and tls.key, valid for 30 days, and must not have them yet. NAMEs are DNS names or
# IP addresses of the webhook; localhost, 127.0.0.1 and ::1 are in the certificate anyway. Then, for example:
#
#   fhpa webhook --offline --cert-dir DIRECTORY --listen 127.0.0.1:9443
set -eu
umask 077

directory=${1:?"usage: $0 DIRECTORY [NAME...]"}
shift
command -v openssl >/dev/null || { echo "openssl is needed" >&2; exit 1; }
mkdir -p "$directory"
cd "$directory"
for file in ca.crt ca.key tls.crt tls.key; do
    [ ! -e "$file" ] || { echo "$directory/$file is there already: remove it, or choose another directory" >&2; exit 1; }
done

names="DNS:localhost,IP:127.0.0.1,IP:::1"
for name in "$@"; do
    case $name in
        *[!0-9.]*) case $name in *:*) kind=IP ;; *) kind=DNS ;; esac ;;
        *) kind=IP ;;
    esac
    names="$names,$kind:$name"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
key() {
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>"$work/said" || { cat "$work/said" >&2; exit 1; }
}

cat >"$work/ca.conf" <<END
[req]
distinguished_name = name
prompt = no
x509_extensions = extensions
[name]
CN = fhpa throw-away CA
[extensions]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
END
cat >"$work/leaf.conf" <<END
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = $names
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
END

key ca.key
openssl req -x509 -new -config "$work/ca.conf" -key ca.key -days 30 -out ca.crt
key tls.key
openssl req -new -config "$work/ca.conf" -key tls.key -subj "/CN=fhpa" -out "$work/leaf.csr"
openssl x509 -req -in "$work/leaf.csr" -CA ca.crt -CAkey ca.key -set_serial "0x$(openssl rand -hex 16)" -days 30 \
    -extfile "$work/leaf.conf" -out tls.crt 2>"$work/said" || { cat "$work/said" >&2; exit 1; }
echo "$directory: ca.crt, ca.key, tls.crt, tls.key for $names"
