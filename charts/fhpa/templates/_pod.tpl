{{/* What all pods have: the Deployment's and the hooks'. */}}

{{- define "fhpa.podSettings" -}}
serviceAccountName: {{ include "fhpa.serviceAccountName" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- with .Values.runAsUser }}
  runAsUser: {{ . }}
  runAsGroup: {{ . }}
  fsGroup: {{ . }}
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
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

{{/* A directory, not a subPath: the kubelet brings new content to directories only. */}}
{{- define "fhpa.kubeconfigVolume" -}}
- name: kubeconfig
  secret:
    secretName: {{ .Values.karmada.kubeconfigSecret.name | quote }}
    defaultMode: 288 # 0440
{{- end -}}

{{- define "fhpa.kubeconfigMount" -}}
- name: kubeconfig
  mountPath: /etc/fhpa/kubeconfig
  readOnly: true
{{- end -}}

{{- define "fhpa.kubeconfigArgs" -}}
- {{ printf "--kubeconfig=/etc/fhpa/kubeconfig/%s" .Values.karmada.kubeconfigSecret.key | quote }}
{{- with .Values.karmada.context }}
- {{ printf "--context=%s" . | quote }}
{{- end }}
{{- end -}}

{{/* A Job that is a hook. Takes a dict: root, component, hook, weight, arguments and, for one that needs the CA, ca. */}}
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
    helm.sh/hook-weight: "0"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  backoffLimit: {{ .root.Values.install.retries }}
  activeDeadlineSeconds: {{ .root.Values.install.timeoutSeconds }}
  template:
    metadata:
      labels: {{- include "fhpa.instance" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
    spec:
      restartPolicy: Never
      {{- include "fhpa.podSettings" .root | nindent 6 }}
      containers:
        - name: {{ .component }}
          {{- include "fhpa.container" .root | nindent 10 }}
          args:
            - {{ .component }}
            {{- include "fhpa.kubeconfigArgs" .root | nindent 12 }}
            {{- range .arguments }}
            - {{ . | quote }}
            {{- end }}
          {{- with .root.Values.extraEnv }}
          env: {{- toYaml . | nindent 12 }}
          {{- end }}
          resources: {{- toYaml .root.Values.install.resources | nindent 12 }}
          volumeMounts:
            {{- include "fhpa.kubeconfigMount" .root | nindent 12 }}
            {{- if .ca }}
            - name: ca
              mountPath: /etc/fhpa/ca
              readOnly: true
            {{- end }}
      volumes:
        {{- include "fhpa.kubeconfigVolume" .root | nindent 8 }}
        {{- if .ca }}
        - name: ca
          projected:
            defaultMode: 288 # 0440
            sources:
              - secret: {{- include "fhpa.caSource" .root | nindent 18 }}
        {{- end }}
{{- end -}}
