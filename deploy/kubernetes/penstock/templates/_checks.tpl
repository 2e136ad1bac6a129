{{- /* Rules that values.schema.json cannot state. Each message names the value and the remedy. */}}
{{- define "penstock.checks" -}}
{{- with .Values -}}
{{- if not .image.repository -}}
{{- fail "image.repository is missing: name the image that `./run image` builds, after you pushed it" -}}
{{- end -}}
{{- if not .dataRoots -}}
{{- fail "dataRoots is empty: name at least one folder, claim or URL that contains data sets" -}}
{{- end -}}
{{- $names := dict -}}
{{- range .dataRoots -}}
{{- if hasKey $names .name -}}
{{- fail (printf "dataRoots: two are named '%s'; give each its own name" .name) -}}
{{- end -}}
{{- $_ := set $names .name true -}}
{{- if ne 1 (len (compact (list .url .claim .hostPath))) -}}
{{- fail (printf "dataRoots: '%s' needs exactly one of url, claim and hostPath" .name) -}}
{{- end -}}
{{- if and .subPath (not .claim) -}}
{{- fail (printf "dataRoots: subPath of '%s' needs a claim" .name) -}}
{{- end -}}
{{- end -}}
{{- include "penstock.checks.tls" . -}}
{{- include "penstock.checks.auth" . -}}
{{- include "penstock.checks.scaling" . -}}
{{- end -}}
{{- end -}}

{{- define "penstock.checks.tls" -}}
{{- if not .tls.source -}}
{{- fail "tls.source is missing: choose secrets, cert-manager, or none (plaintext, for a network that you trust)" -}}
{{- end -}}
{{- if and (eq .tls.source "secrets") (not (and .tls.coordinatorSecret .tls.workerSecret)) -}}
{{- fail "tls.source is secrets: name the Secrets in tls.coordinatorSecret and tls.workerSecret" -}}
{{- end -}}
{{- if and (ne .tls.source "secrets") (or .tls.coordinatorSecret .tls.workerSecret) -}}
{{- fail "tls.coordinatorSecret and tls.workerSecret need tls.source: secrets" -}}
{{- end -}}
{{- if and (eq .tls.source "cert-manager") (not .tls.certManager.issuer.name) -}}
{{- fail "tls.source is cert-manager: name the issuer in tls.certManager.issuer.name" -}}
{{- end -}}
{{- end -}}

{{- define "penstock.checks.auth" -}}
{{- if ne (empty .auth.tokensSecret) (empty .auth.workerTokenSecret) -}}
{{- fail "auth.tokensSecret and auth.workerTokenSecret belong together: set both" -}}
{{- end -}}
{{- if and .auth.tokensSecret (eq .tls.source "none") -}}
{{- fail "auth.tokensSecret needs TLS, because tokens are never sent in plaintext: set tls.source to secrets or cert-manager" -}}
{{- end -}}
{{- if and .worker.sharedMemory.enabled (eq .worker.sharedMemory.users "any") (not .auth.tokensSecret) -}}
{{- fail "worker.sharedMemory.users: any needs auth.tokensSecret, because other users show a ticket" -}}
{{- end -}}
{{- if and .monitoring.serviceMonitor.enabled .auth.tokensSecret (not .monitoring.serviceMonitor.tokenSecret) -}}
{{- fail "monitoring.serviceMonitor.tokenSecret is missing: with auth, Prometheus needs the token of a viewer" -}}
{{- end -}}
{{- if and .monitoring.serviceMonitor.enabled .networkPolicy.enabled (not .networkPolicy.monitoring) -}}
{{- fail "networkPolicy.monitoring is empty: name the pods of Prometheus, which monitoring.serviceMonitor lets read metrics" -}}
{{- end -}}
{{- end -}}

{{- define "penstock.checks.scaling" -}}
{{- if gt (int .autoscaling.minReplicas) (int .autoscaling.maxReplicas) -}}
{{- fail "autoscaling.minReplicas is more than autoscaling.maxReplicas" -}}
{{- end -}}
{{- if and (eq .autoscaling.mode "keda") (not .autoscaling.keda.serverAddress) -}}
{{- fail "autoscaling.keda.serverAddress is missing: name the address of Prometheus" -}}
{{- end -}}
{{- end -}}
