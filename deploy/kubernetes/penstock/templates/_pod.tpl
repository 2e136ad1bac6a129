{{- /* Parts of the pods of both roles: dict "root" "role" "values" (coordinator or worker). The pods conform to the Pod Security
level `restricted`. */}}

{{- define "penstock.podMetadata" -}}
labels:
  {{- include "penstock.labels" . | nindent 2 }}
  {{- with .values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  penstock/config-digest: {{ include (printf "penstock.%sConfig" .role) .root | sha256sum | trunc 16 | quote }}
  {{- with .values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "penstock.podCommon" -}}
serviceAccountName: {{ include "penstock.name" . }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 7070
  runAsGroup: 7070
  fsGroup: 7070
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "penstock.containerCommon" -}}
image: {{ include "penstock.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
command: [penstockd]
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources:
  {{- toYaml .values.resources | nindent 2 }}
# Storage that hangs, or a large migration, may delay the port at the start.
startupProbe:
  {{- include "penstock.probe" (dict "root" .root "path" "/healthz") | nindent 2 }}
  periodSeconds: 5
  failureThreshold: 120
livenessProbe:
  {{- include "penstock.probe" (dict "root" .root "path" "/healthz") | nindent 2 }}
  periodSeconds: 10
  failureThreshold: 6
readinessProbe:
  {{- include "penstock.probe" (dict "root" .root "path" "/readyz") | nindent 2 }}
  periodSeconds: 5
  failureThreshold: 2
{{- end -}}

{{- /* The kubelet does not verify certificates, and needs none for these paths. */}}
{{- define "penstock.probe" -}}
httpGet: {path: {{ .path }}, port: http, scheme: {{ ternary "HTTPS" "HTTP" (eq (include "penstock.tls" .root) "true") }}}
timeoutSeconds: 3
{{- end -}}

{{- /* For the command `penstock` in the container. */}}
{{- define "penstock.environment" -}}
- {name: PENSTOCK_COORDINATOR, value: "{{ include "penstock.coordinatorHost" . }}:7070"}
{{- if include "penstock.tls" . }}
- {name: PENSTOCK_TLS_CA, value: /etc/penstock/tls/ca.crt}
- {name: PENSTOCK_TLS_CERT, value: /etc/penstock/tls/tls.crt}
- {name: PENSTOCK_TLS_KEY, value: /etc/penstock/tls/tls.key}
{{- end }}
{{- end -}}

{{- define "penstock.mounts" -}}
- {name: config, mountPath: /etc/penstock/config, readOnly: true}
- {name: state, mountPath: /var/lib/penstock}
- {name: tmp, mountPath: /tmp}
{{- if include "penstock.tls" . }}
- {name: tls, mountPath: /etc/penstock/tls, readOnly: true}
{{- end }}
{{- if .Values.auth.tokensSecret }}
- {name: tokens, mountPath: /etc/penstock/tokens, readOnly: true}
{{- end }}
{{- end -}}

{{- /* Volumes besides `state`. The daemons reject files of tokens that other users can read. */}}
{{- define "penstock.volumes" -}}
- name: config
  configMap:
    name: {{ include "penstock.name" . }}
- name: tmp
  emptyDir: {sizeLimit: 256Mi}
{{- if include "penstock.tls" .root }}
- name: tls
  secret:
    secretName: {{ include "penstock.tlsSecret" . }}
    defaultMode: 0440
{{- end }}
{{- with .root.Values.auth.tokensSecret }}
- name: tokens
  secret:
    secretName: {{ . }}
    defaultMode: 0440
    items: [{key: tokens, path: tokens}]
{{- end }}
{{- end -}}
