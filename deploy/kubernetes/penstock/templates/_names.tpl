{{- /* Names and labels. The arguments of a template for one role: dict "root" $ "role" "worker". */}}

{{- /* At most 40 characters, so that names of pods, with the role and a hash, are valid labels. */}}
{{- define "penstock.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains "penstock" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-penstock" (.Release.Name | trunc 31 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "penstock.name" -}}
{{- printf "%s-%s" (include "penstock.fullname" .root) .role -}}
{{- end -}}

{{- /* The name of the coordinator's Service, which its certificate contains. */}}
{{- define "penstock.coordinatorHost" -}}
{{- printf "%s-coordinator.%s.svc" (include "penstock.fullname" .) .Release.Namespace -}}
{{- end -}}

{{- /* The name in the workers' certificate. */}}
{{- define "penstock.workerHost" -}}
{{- .Values.tls.workerName | default (printf "%s-worker.%s.svc" (include "penstock.fullname" .) .Release.Namespace) -}}
{{- end -}}

{{- define "penstock.selector" -}}
app.kubernetes.io/name: penstock
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{- define "penstock.labels" -}}
{{ include "penstock.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "penstock.metadata" -}}
name: {{ include "penstock.name" . }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "penstock.labels" . | nindent 2 }}
{{- end -}}

{{- define "penstock.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
