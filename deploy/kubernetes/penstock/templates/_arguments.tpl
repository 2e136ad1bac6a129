{{- /* Command lines and configuration files of the daemons. Settings that have a flag are flags. */}}

{{- /* Any address of the family, for --listen. */}}
{{- define "penstock.any" -}}
{{- ternary "[::]" "0.0.0.0" (eq .Values.ipFamily "IPv6") -}}
{{- end -}}

{{- define "penstock.arguments" -}}
{{- $values := .root.Values -}}
- {{ .role }}
- --config=/etc/penstock/config/{{ .role }}.textproto
- --http={{ include "penstock.any" .root }}:7072
- --state-dir=/var/lib/penstock/{{ .role }}
- --log-level={{ $values.log.level }}
{{- if $values.log.json }}
- --log-json
{{- end }}
{{- if include "penstock.tls" .root }}
- --tls-cert=/etc/penstock/tls/tls.crt
- --tls-key=/etc/penstock/tls/tls.key
- --tls-ca=/etc/penstock/tls/ca.crt
- --tls-clients={{ $values.tls.clients }}
{{- else }}
- --insecure
{{- end }}
{{- if $values.auth.tokensSecret }}
- --tokens=/etc/penstock/tokens/tokens
{{- end }}
{{- end -}}

{{- define "penstock.coordinatorArguments" -}}
{{ include "penstock.arguments" (dict "root" . "role" "coordinator") }}
- --listen={{ include "penstock.any" . }}:7070
{{- with .Values.coordinator.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "penstock.workerArguments" -}}
{{- with .Values.worker -}}
{{ include "penstock.arguments" (dict "root" $ "role" "worker") }}
- --listen={{ include "penstock.any" $ }}:7071
- --advertise={{ ternary "[$(POD_IP)]" "$(POD_IP)" (eq $.Values.ipFamily "IPv6") }}:7071
- --name=$(POD_NAME)
- --coordinator={{ include "penstock.coordinatorHost" $ }}:7070
{{- if include "penstock.tls" $ }}
- --tls-name={{ include "penstock.workerHost" $ }}
{{- end }}
{{- if $.Values.auth.workerTokenSecret }}
- --token-file=/etc/penstock/token/token
{{- end }}
{{- range $.Values.dataRoots }}
- --data-root={{ .name }}={{ .url | default (printf "/data/%s" .name) }}
{{- end }}
{{- if .sharedMemory.enabled }}
- --socket-dir={{ .sharedMemory.hostPath }}
- --socket-users={{ .sharedMemory.users }}
{{- else }}
- --socket-dir=
{{- end }}
{{- with .memoryBudget }}
- --memory-budget={{ . }}
{{- end }}
{{- with .recordCache }}
- --record-cache={{ . }}
{{- end }}
{{- with .decodedCache }}
- --decoded-cache={{ . }}
{{- end }}
{{- with .rowCache }}
- --row-cache={{ . }}
{{- end }}
{{- if .diskCache.enabled }}
- --disk-cache=/var/lib/penstock/disk-cache
{{- with .diskCache.limit }}
- --disk-cache-size={{ . }}
{{- end }}
{{- end }}
{{- with .extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- end -}}

{{- /* Settings without a flag. */}}
{{- define "penstock.coordinatorConfig" -}}
coordinator_settings { ticket_hours: {{ int .Values.coordinator.ticketHours }} }
{{ end -}}

{{- define "penstock.workerConfig" -}}
worker_settings { drain_timeout_ms: {{ mul 1000 (int .Values.worker.drainSeconds) }} max_sessions: {{ int .Values.worker.maxSessions }} }
{{ end -}}
