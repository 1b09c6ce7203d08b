{{/* Names, labels and addresses that several templates use. */}}

{{- define "fhpa.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "fhpa.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "fhpa.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "fhpa.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Seconds of a duration such as `10s`, `3m` or `1h30m`, for fields of Kubernetes. */}}
{{- define "fhpa.seconds" -}}
{{- $seconds := 0 -}}
{{- range regexFindAll "[0-9]+[hms]" (toString .) -1 -}}
{{- $unit := get (dict "h" 3600 "m" 60 "s" 1) (regexFind "[hms]" .) -}}
{{- $seconds = add $seconds (mul (int (regexFind "[0-9]+" .)) $unit) -}}
{{- end -}}
{{- $seconds -}}
{{- end -}}

{{- define "fhpa.instance" -}}
app.kubernetes.io/name: {{ include "fhpa.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Selects the pods of the Deployment, not those of the hooks. */}}
{{- define "fhpa.selector" -}}
{{ include "fhpa.instance" . }}
app.kubernetes.io/component: server
{{- end -}}

{{- define "fhpa.labels" -}}
{{ include "fhpa.instance" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "fhpa.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "fhpa.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "fhpa.repository" -}}
{{- required "image.repository is not set: name the image with its registry, as in --set image.repository=registry.example.com/fhpa" .Values.image.repository -}}
{{- end -}}

{{- define "fhpa.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ include "fhpa.repository" $ }}@{{ .digest }}
{{- else -}}
{{ include "fhpa.repository" $ }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Where karmada-apiserver reaches the webhook; it resolves names of the host cluster, as it is a pod there. */}}
{{- define "fhpa.url" -}}
{{- if .Values.webhook.url -}}
{{ trimSuffix "/" .Values.webhook.url }}/
{{- else -}}
https://{{ include "fhpa.fullname" . }}.{{ .Release.Namespace }}.svc:{{ .Values.service.port }}/
{{- end -}}
{{- end -}}

{{/* Names in the certificate, one per line. */}}
{{- define "fhpa.dnsNames" -}}
{{- $service := printf "%s.%s" (include "fhpa.fullname" .) .Release.Namespace -}}
{{- $names := list (printf "%s.svc" $service) $service (printf "%s.svc.cluster.local" $service) -}}
{{- with .Values.webhook.url -}}
{{- $names = append $names (regexReplaceAll ":[0-9]+$" (urlParse .).host "") -}}
{{- end -}}
{{- concat $names .Values.certificate.extraDnsNames | uniq | join "\n" -}}
{{- end -}}

{{- define "fhpa.selfManaged" -}}
{{- if eq .Values.certificate.mode "selfManaged" -}}true{{- end -}}
{{- end -}}

{{/* The Secret that the pods keep themselves. cert-manager's has another name, so that neither finds the other's. */}}
{{- define "fhpa.ownSecret" -}}
{{- default (printf "%s-certificate" (include "fhpa.fullname" .)) .Values.certificate.selfManaged.secretName -}}
{{- end -}}

{{- define "fhpa.certificateSecret" -}}
{{- if eq .Values.certificate.mode "certManager" -}}
{{ include "fhpa.fullname" . }}-tls
{{- else -}}
{{ .Values.certificate.existingSecret.name }}
{{- end -}}
{{- end -}}

{{/* Secret and key of the CA that signed the certificate. */}}
{{- define "fhpa.caSource" -}}
{{- if eq .Values.certificate.mode "certManager" -}}
name: {{ include "fhpa.certificateSecret" . }}
items: [{key: ca.crt, path: ca.crt}]
{{- else -}}
{{- with .Values.certificate.existingSecret -}}
name: {{ default .name .caSecret }}
items: [{key: {{ .caKey | quote }}, path: ca.crt}]
{{- end -}}
{{- end -}}
{{- end -}}
