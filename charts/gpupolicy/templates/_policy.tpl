{{/* What the objects take from the policy and the values, as JSON: include "gpupolicy.facts" . | fromJson */}}
{{- define "gpupolicy.facts" -}}
{{- $policy := include "gpupolicy.policy" . | fromJson }}
{{- $spec := $policy.spec }}
{{- $webhook := mergeOverwrite dict ((.Files.Get "files/defaults.yaml") | fromYaml) ($spec.webhook | default dict) .Values.webhook }}
{{- $certificates := $webhook.certificates }}
{{- $name := $policy.metadata.name }}
{{- $selfManaged := eq $certificates.mode "selfManaged" }}
{{- $follows := eq (include "gpupolicy.followsNamespaces" $policy) "true" }}
{{- include "gpupolicy.checks" (dict "root" . "webhook" $webhook) }}
{{- $selector := dict "app.kubernetes.io/name" $webhook.name "app.kubernetes.io/instance" $name }}
{{- $labels := mergeOverwrite (deepCopy $selector) (dict "app.kubernetes.io/part-of" "gpupolicy" "app.kubernetes.io/managed-by" "gpupolicy") }}
{{- dict
  "name" $name
  "webhook" $webhook
  "configuration" (printf "gpupolicy-%s" $name)
  "secretName" $certificates.secretName
  "selfManaged" $selfManaged
  "certManager" (eq $certificates.mode "certManager")
  "followsNamespaces" $follows
  "asksCluster" (or $selfManaged $follows)
  "selector" $selector
  "labels" $labels
  "gpuSupport" (printf "%s/nvidia-gpu-support" (($spec.labels | default dict).prefix | default "my.gpu.cluster"))
  "ownNamespace" (not (or (eq $webhook.namespace "default") (hasPrefix "kube-" $webhook.namespace)))
  "earlyWord" (ne (($spec.admission | default dict).workloads | default "warn" | toString) "off")
  "kinds" ($spec.workloads | default list)
  "names" (include "gpupolicy.names" $policy)
  "excluded" (include "gpupolicy.excluded" (dict "policy" $policy "namespace" $webhook.namespace) | fromJsonArray)
  | toJson }}
{{- end }}

{{/* The policy as JSON, once it is seen to be one. It is not linted here. */}}
{{- define "gpupolicy.policy" -}}
{{- if not .Values.policy }}
{{- fail "no policy is given: --set-file policy=policy.yaml" }}
{{- end }}
{{- if gt (len .Values.policy) 1048576 }}
{{- fail (printf "the policy has %d bytes; a ConfigMap holds at most 1048576" (len .Values.policy)) }}
{{- end }}
{{- $policy := fromYaml .Values.policy }}
{{- if hasKey $policy "Error" }}
{{- fail (printf "the policy cannot be read: %s" $policy.Error) }}
{{- end }}
{{- if not (and (eq (toString $policy.apiVersion) "gpupolicy.dev/v1alpha1") (eq (toString $policy.kind) "GPUPolicy")) }}
{{- fail "the policy has to be one document of apiVersion gpupolicy.dev/v1alpha1, kind GPUPolicy" }}
{{- end }}
{{- if not (and (kindIs "map" $policy.spec) (kindIs "map" $policy.metadata)) }}
{{- fail "the policy lacks metadata or spec: gpupolicy lint says what is wrong" }}
{{- end }}
{{- toJson $policy }}
{{- end }}

{{/* Fails where values and policy contradict each other, or would register a webhook that nobody trusts. */}}
{{- define "gpupolicy.checks" -}}
{{- $mode := .webhook.certificates.mode }}
{{- if ne .root.Release.Namespace .webhook.namespace }}
{{- fail (printf "the policy's webhook lives in namespace %s (spec.webhook.namespace), not in %s: install with --namespace %s" .webhook.namespace .root.Release.Namespace .webhook.namespace) }}
{{- end }}
{{- if and .root.Values.caBundle (ne $mode "secret") }}
{{- fail (printf "caBundle is given, but in certificate mode %s (spec.webhook.certificates.mode) somebody else fills it in" $mode) }}
{{- end }}
{{- if and .root.Values.register (eq $mode "secret") (not .root.Values.caBundle) }}
{{- fail "the API server would trust no certificate of the webhook: --set-file caBundle=pki/ca.crt (gpupolicy certs makes one), or --set register=false, or certificate mode selfManaged in the policy" }}
{{- end }}
{{- end }}

{{/* "true" where a namespaceSelector looks at more of a namespace than its name: a review does not carry its labels. */}}
{{- define "gpupolicy.followsNamespaces" -}}
{{- $admission := .spec.admission | default dict }}
{{- $overrides := list }}
{{- if kindIs "map" $admission.enforcement }}
{{- $overrides = $admission.enforcement.overrides | default list }}
{{- end }}
{{- $found := false }}
{{- range concat $overrides ($admission.exemptions | default list) ($admission.access | default list) }}
{{- $selector := .namespaceSelector | default dict }}
{{- $keys := keys ($selector.matchLabels | default dict) }}
{{- range $selector.matchExpressions }}
{{- $keys = append $keys .key }}
{{- end }}
{{- if without $keys "kubernetes.io/metadata.name" }}
{{- $found = true }}
{{- end }}
{{- end }}
{{- $found }}
{{- end }}

{{/* A CEL list of how the names begin that are counted, or stand for the same GPUs: misspelt, shared, cut into slices. */}}
{{- define "gpupolicy.names" -}}
{{- $names := list }}
{{- range .spec.gpuTypes }}
{{- $names = append $names (.resourceName | default "nvidia.com/gpu" | lower) }}
{{- end }}
{{- if regexMatch "(^|,)nvidia.com/" (join "," $names) }}
{{- $names = append $names "nvidia.com/mig-" }}
{{- end }}
{{- $names = append ($names | uniq | sortAlpha) "deviceclass.resource.kubernetes.io/" }}
{{- $kept := list }}
{{- range $name := $names }}
{{- $covered := false }}
{{- range $names }}
{{- if and (ne . $name) (hasPrefix . $name) }}
{{- $covered = true }}
{{- end }}
{{- end }}
{{- if not $covered }}
{{- $kept = append $kept $name }}
{{- end }}
{{- end }}
{{- printf "['%s']" (join "', '" $kept) }}
{{- end }}

{{/* JSON list of the namespaces whose pods never reach the webhook; an exemption counts where it holds for all of one. */}}
{{- define "gpupolicy.excluded" -}}
{{- $excluded := list "kube-node-lease" "kube-system" .namespace }}
{{- range (.policy.spec.admission | default dict).exemptions }}
{{- $limited := or .ownerKinds .serviceAccounts (hasKey . "podSelector") (hasKey . "namespaceSelector") (hasKey . "expires") }}
{{- range ternary list .namespaces (not (not $limited)) }}
{{- if not (regexMatch "[*?[]" .) }}
{{- $excluded = append $excluded . }}
{{- end }}
{{- end }}
{{- end }}
{{- $excluded | uniq | sortAlpha | toJson }}
{{- end }}

{{/* Text as a YAML value: a block where it comes out as it went in, else quoted. The caller indents by two. */}}
{{- define "gpupolicy.text" -}}
{{- if and (regexMatch `^[^\s#][^\r\x{85}\x{2028}\x{2029}\x{feff}]*[^\s]\n$` .) (not (regexMatch `[\x00-\x08\x0b-\x1f\x7f]` .)) -}}
|
{{ trimSuffix "\n" . | indent 2 }}
{{- else -}}
{{ toJson . }}
{{- end }}
{{- end }}
