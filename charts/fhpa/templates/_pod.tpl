{{/* What all pods have: the Deployment's and the hooks'. Takes a dict: root and, for a hook as below, early. */}}

{{- define "fhpa.podSettings" -}}
serviceAccountName: {{ if and .early .root.Values.serviceAccount.create }}default{{ else }}{{ include "fhpa.serviceAccountName" .root }}{{ end }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- with .root.Values.runAsUser }}
  runAsUser: {{ . }}
  runAsGroup: {{ . }}
  fsGroup: {{ . }}
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .root.Values.dnsConfig }}
dnsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.hostAliases }}
hostAliases: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "fhpa.container" -}}
image: {{ include "fhpa.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{/*
The kubeconfig, as a directory and not by subPath: the kubelet brings new content to directories only. All three take a dict:
root and, for a hook, hook.
*/}}
{{- define "fhpa.kubeconfigSource" -}}
{{- $given := .root.Values.karmada.kubeconfigSecret -}}
{{- if .hook -}}
{{- with .root.Values.install.kubeconfigSecret -}}
{{- $given = dict "name" (default $given.name .name) "key" (default $given.key .key) -}}
{{- end -}}
{{- end -}}
{{- toYaml $given -}}
{{- end -}}

{{- define "fhpa.kubeconfigVolume" -}}
- name: kubeconfig
  secret:
    secretName: {{ get (include "fhpa.kubeconfigSource" . | fromYaml) "name" | quote }}
    defaultMode: 288 # 0440
{{- end -}}

{{- define "fhpa.kubeconfigArgs" -}}
- {{ printf "--kubeconfig=/etc/fhpa/kubeconfig/%s" (get (include "fhpa.kubeconfigSource" . | fromYaml) "key") | quote }}
{{- $context := .root.Values.karmada.context -}}
{{- if .hook -}}
{{- with .root.Values.install -}}
{{- /* A kubeconfig of the hooks' own need not know the context of the pods'. */}}
{{- $context = default (ternary "" $context (not (empty .kubeconfigSecret.name))) .context -}}
{{- end -}}
{{- end -}}
{{- with $context }}
- {{ printf "--context=%s" . | quote }}
{{- end }}
{{- end -}}

{{- define "fhpa.kubeconfigMount" -}}
- name: kubeconfig
  mountPath: /etc/fhpa/kubeconfig
  readOnly: true
{{- end -}}

{{/* A token of the host cluster, for the Secret of a selfManaged certificate and for nothing else. */}}
{{- define "fhpa.tokenVolume" -}}
- name: host-token
  projected:
    defaultMode: 288 # 0440
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 3607
      - configMap:
          name: kube-root-ca.crt
          items: [{key: ca.crt, path: ca.crt}]
      - downwardAPI:
          items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]
{{- end -}}

{{- define "fhpa.tokenMount" -}}
- name: host-token
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- end -}}

{{/* The Lease: a hook that hands workloads back keeps the controller off by it. */}}
{{- define "fhpa.leaseArgs" -}}
- {{ printf "--lease-name=%s" .Values.controller.leaseName | quote }}
- {{ printf "--lease-namespace=%s" .Values.controller.leaseNamespace | quote }}
{{- end -}}

{{/*
A Job that is a hook. Takes a dict: root, component, command, hook, weight, deadline, retries, arguments and, for one that
needs the CA, ca; early for one that runs before the release has its objects.
*/}}
{{- define "fhpa.hookJob" -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "fhpa.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "fhpa.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  annotations:
    helm.sh/hook: {{ .hook }}
    helm.sh/hook-weight: {{ .weight | default 0 | quote }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  backoffLimit: {{ .retries }}
  activeDeadlineSeconds: {{ .deadline }}
  template:
    metadata:
      labels: {{- include "fhpa.instance" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
        {{- with .root.Values.commonLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with .root.Values.install.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .root.Values.install.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      restartPolicy: Never
      {{- include "fhpa.podSettings" (dict "root" .root "early" .early) | nindent 6 }}
      containers:
        - name: {{ .component }}
          {{- include "fhpa.container" .root | nindent 10 }}
          args:
            - {{ .command }}
            {{- include "fhpa.kubeconfigArgs" (dict "root" .root "hook" true) | nindent 12 }}
            {{- include "fhpa.leaseArgs" .root | nindent 12 }}
            {{- range .arguments }}
            - {{ . | quote }}
            {{- end }}
          {{- with .root.Values.extraEnv }}
          env: {{- toYaml . | nindent 12 }}
          {{- end }}
          resources: {{- toYaml .root.Values.install.resources | nindent 12 }}
          volumeMounts:
            {{- include "fhpa.kubeconfigMount" .root | nindent 12 }}
            {{- with .root.Values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
            {{- if .ca }}
            {{- if include "fhpa.selfManaged" .root }}
            {{- include "fhpa.tokenMount" .root | nindent 12 }}
            {{- else }}
            - name: ca
              mountPath: /etc/fhpa/ca
              readOnly: true
            {{- end }}
            {{- end }}
      volumes:
        {{- include "fhpa.kubeconfigVolume" (dict "root" .root "hook" true) | nindent 8 }}
        {{- with .root.Values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- if .ca }}
        {{- if include "fhpa.selfManaged" .root }}
        {{- include "fhpa.tokenVolume" .root | nindent 8 }}
        {{- else }}
        - name: ca
          projected:
            defaultMode: 288 # 0440
            sources:
              - secret: {{- include "fhpa.caSource" .root | nindent 18 }}
        {{- end }}
        {{- end }}
{{- end -}}
