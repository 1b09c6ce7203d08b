{{/* Refuses what the program would refuse, before anything is changed. */}}

{{- define "fhpa.limits" -}}
{{- $hour := 3600 -}}
{{- $day := 86400 -}}
{{- $limits := dict
  "controller.leaseDuration" $hour
  "controller.renewDeadline" $hour
  "controller.retryPeriod" $hour
  "controller.rebalancePeriod" $hour
  "controller.replacementTimeout" $day
  "controller.shutdownTimeout" $hour
  "centralized.syncPeriod" $day
  "centralized.downscaleStabilization" $hour
  "centralized.cpuInitializationPeriod" $hour
  "centralized.initialReadinessDelay" $hour
  "webhook.shutdownDelay" $hour
  "uninstall.timeout" $day
-}}
{{- range $path, $most := $limits -}}
{{- $given := $.Values -}}
{{- range splitList "." $path -}}
{{- $given = get $given . -}}
{{- end -}}
{{- if gt (int (include "fhpa.seconds" $given)) $most -}}
{{- fail (printf "%s is %v: it must be at most %dh" $path $given (div $most 3600)) -}}
{{- end -}}
{{- end -}}
{{- /* The hook waits until the last leader stops, then up to three minutes for clusters that do not follow. */ -}}
{{- $least := add (int (include "fhpa.seconds" .Values.controller.leaseDuration)) 200 -}}
{{- if and .Values.uninstall.enabled (lt (int (include "fhpa.seconds" .Values.uninstall.timeout)) (int $least)) -}}
{{- fail (printf "uninstall.timeout is %s: with controller.leaseDuration %s it must be at least %ds" .Values.uninstall.timeout .Values.controller.leaseDuration $least) -}}
{{- end -}}
{{- with .Values.controller -}}
{{- if ge (int (include "fhpa.seconds" .renewDeadline)) (int (include "fhpa.seconds" .leaseDuration)) -}}
{{- fail (printf "controller.renewDeadline is %s: it must be less than controller.leaseDuration, %s" .renewDeadline .leaseDuration) -}}
{{- end -}}
{{- if ge (int (include "fhpa.seconds" .retryPeriod)) (int (include "fhpa.seconds" .renewDeadline)) -}}
{{- fail (printf "controller.retryPeriod is %s: it must be less than controller.renewDeadline, %s" .retryPeriod .renewDeadline) -}}
{{- end -}}
{{- end -}}
{{- end -}}
