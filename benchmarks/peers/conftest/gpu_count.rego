# The one rule that both sides of benchmarks/check.py judge: the GPUs of a pod, added up, are 1, 2, 4 or 8.
package main

import rego.v1

admitted := {1, 2, 4, 8}

pod_spec := input.spec if input.kind == "Pod"

pod_spec := input.spec.template.spec if input.kind in {"Deployment", "Job", "StatefulSet", "ReplicaSet", "DaemonSet"}

pod_spec := input.spec.jobTemplate.spec.template.spec if input.kind == "CronJob"

gpus := sum([to_number(container.resources.limits["nvidia.com/gpu"]) | some container in pod_spec.containers])

deny contains message if {
	gpus > 0
	not gpus in admitted
	message := sprintf("%s %s: the pod asks for %d GPUs; admitted are 1, 2, 4, 8", [input.kind, input.metadata.name, gpus])
}
