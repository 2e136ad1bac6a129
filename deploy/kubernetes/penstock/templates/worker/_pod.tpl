{{- /* The template of a worker's pod. */}}
{{- define "penstock.workerPod" -}}
{{- $role := dict "root" . "role" "worker" "values" .Values.worker -}}
metadata:
  {{- include "penstock.podMetadata" $role | nindent 2 }}
spec:
  {{- include "penstock.podCommon" $role | nindent 2 }}
  # SIGTERM drains. The worker ends at most 7 s after its drain.
  terminationGracePeriodSeconds: {{ add 30 (int .Values.worker.drainSeconds) }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: {{ .Values.worker.spread.topologyKey }}
      whenUnsatisfiable: {{ .Values.worker.spread.whenUnsatisfiable }}
      labelSelector:
        matchLabels:
          {{- include "penstock.selector" $role | nindent 10 }}
  containers:
    - name: worker
      {{- include "penstock.containerCommon" $role | nindent 6 }}
      args:
        {{- include "penstock.workerArguments" . | nindent 8 }}
      ports:
        - {name: grpc, containerPort: 7071}
        - {name: http, containerPort: 7072}
      env:
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        {{- include "penstock.environment" . | nindent 8 }}
        {{- include "penstock.storageEnvironment" . | nindent 8 }}
      volumeMounts:
        {{- include "penstock.mounts" . | nindent 8 }}
        {{- include "penstock.workerMounts" . | nindent 8 }}
  volumes:
    {{- include "penstock.volumes" $role | nindent 4 }}
    {{- include "penstock.workerVolumes" . | nindent 4 }}
{{- end -}}

{{- define "penstock.storageEnvironment" -}}
{{- range $name, $value := .Values.storage.env }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- range .Values.storage.secretEnv }}
- {name: {{ .name }}, valueFrom: {secretKeyRef: {name: {{ .secret }}, key: {{ .key }}}}}
{{- end }}
{{- end -}}

{{- define "penstock.workerMounts" -}}
{{- range $index, $root := .Values.dataRoots }}
{{- if not $root.url }}
- name: data-{{ $index }}
  mountPath: /data/{{ $root.name }}
  readOnly: true
  {{- with $root.subPath }}
  subPath: {{ . }}
  {{- end }}
{{- end }}
{{- end }}
{{- if .Values.auth.workerTokenSecret }}
- {name: token, mountPath: /etc/penstock/token, readOnly: true}
{{- end }}
{{- if .Values.storage.filesSecret }}
- {name: storage, mountPath: /etc/penstock/storage, readOnly: true}
{{- end }}
{{- if .Values.worker.sharedMemory.enabled }}
- {name: sockets, mountPath: {{ .Values.worker.sharedMemory.hostPath }}}
{{- end }}
{{- end -}}

{{- define "penstock.workerVolumes" -}}
{{- if not .Values.worker.diskCache.enabled }}
- name: state
  emptyDir: {sizeLimit: {{ .Values.worker.stateSize }}}
{{- end }}
{{- range $index, $root := .Values.dataRoots }}
{{- if $root.claim }}
- name: data-{{ $index }}
  persistentVolumeClaim: {claimName: {{ $root.claim }}, readOnly: true}
{{- else if $root.hostPath }}
- name: data-{{ $index }}
  hostPath: {path: {{ $root.hostPath }}, type: Directory}
{{- end }}
{{- end }}
{{- with .Values.auth.workerTokenSecret }}
- name: token
  secret:
    secretName: {{ . }}
    defaultMode: 0440
    items: [{key: token, path: token}]
{{- end }}
{{- with .Values.storage.filesSecret }}
- name: storage
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- if .Values.worker.sharedMemory.enabled }}
- name: sockets
  hostPath: {path: {{ .Values.worker.sharedMemory.hostPath }}, type: Directory}
{{- end }}
{{- end -}}
