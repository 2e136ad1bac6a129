{{- /* TLS: "true" if the daemons serve it, "" otherwise. */}}
{{- define "penstock.tls" -}}
{{- if ne .Values.tls.source "none" -}}true{{- end -}}
{{- end -}}

{{- /* The Secret with the certificate of a role. */}}
{{- define "penstock.tlsSecret" -}}
{{- if eq .root.Values.tls.source "secrets" -}}
{{- ternary .root.Values.tls.coordinatorSecret .root.Values.tls.workerSecret (eq .role "coordinator") -}}
{{- else -}}
{{- printf "%s-tls" (include "penstock.name" .) -}}
{{- end -}}
{{- end -}}

{{- /* The specification of a Certificate: dict "root" "role" "dnsNames". */}}
{{- define "penstock.certificate" -}}
{{- with .root.Values.tls.certManager -}}
secretName: {{ printf "%s-tls" (include "penstock.name" $) }}
duration: {{ .duration }}
renewBefore: {{ .renewBefore }}
privateKey:
  algorithm: ECDSA
  size: 256
  rotationPolicy: Always
usages: [digital signature, server auth, client auth]
dnsNames:
  {{- toYaml $.dnsNames | nindent 2 }}
issuerRef:
  name: {{ .issuer.name }}
  kind: {{ .issuer.kind }}
  group: {{ .issuer.group }}
{{- end -}}
{{- end -}}
