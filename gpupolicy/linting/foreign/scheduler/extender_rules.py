"""Rules about the extenders of a KubeSchedulerConfiguration."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.linting.foreign.findings import error, show
from gpupolicy.linting.foreign.pem import has_certificate, has_key
from gpupolicy.linting.foreign.reading import mapping, objects, text, whole
from gpupolicy.linting.foreign.resource_names import find_extended_name_problem
from gpupolicy.linting.foreign.scheduler.configuration import SchedulerConfiguration
from gpupolicy.linting.foreign.scheduler.strategies import FIT


def extender_weight_missing(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """An extender that scores without a weight above zero.

    Why: kube-scheduler ends at its start.
    Bad:  extenders: [{urlPrefix: "https://extender", prioritizeVerb: score}]
    Good: extenders: [{urlPrefix: "https://extender", prioritizeVerb: score, weight: 1}]
    Source: kubernetes pkg/scheduler/apis/config/validation; measured on kube-scheduler 1.37.2.
    """
    for index, extender in objects(configuration.at("extenders")):
        weight = whole(extender.get("weight")) or 0
        if text(extender.get("prioritizeVerb")) and weight <= 0:
            path = ("extenders", index, "weight") if "weight" in extender else ("extenders", index)
            yield error("extender-weight-missing", path, f"an extender with prioritizeVerb has the weight {weight}")


def extender_binds_twice(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """Two extenders that bind pods.

    Why: only one may; kube-scheduler ends at its start.
    Bad:  extenders: [{urlPrefix: a, bindVerb: bind}, {urlPrefix: b, bindVerb: bind}]
    Good: extenders: [{urlPrefix: a, bindVerb: bind}, {urlPrefix: b, filterVerb: filter}]
    Source: kubernetes pkg/scheduler/apis/config/validation.
    """
    binders = [index for index, extender in objects(configuration.at("extenders")) if text(extender.get("bindVerb"))]
    for index in binders[1:]:
        message = f"extenders[{binders[0]}] has a bindVerb already; only one extender may bind"
        yield error("extender-binds-twice", ("extenders", index, "bindVerb"), message)


def extender_resource_refused(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A managed resource that is no extended resource, or that two extenders manage.

    Why: kube-scheduler ends at its start.
    Bad:  managedResources: [{name: cpu}]
    Good: managedResources: [{name: example.com/gpu-memory}]
    Source: kubernetes pkg/scheduler/apis/config/validation; measured on kube-scheduler 1.37.2.
    """
    seen: set[str] = set()
    for index, extender in objects(configuration.at("extenders")):
        for number, resource in objects(extender.get("managedResources")):
            name = text(resource.get("name"))
            path = ("extenders", index, "managedResources", number, "name")
            if problem := find_extended_name_problem(name):
                yield error("extender-resource-refused", path, f"{show(name)} is no extended resource: {problem}")
            elif name in seen:
                yield error("extender-resource-refused", path, f"{name} is managed above already")
            seen.add(name)


def extender_resource_without_fit(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A resource that the scheduler shall ignore, in a file with a profile that lacks NodeResourcesFit.

    Why: kube-scheduler writes the name into the arguments of that plugin, finds none and ends at its start.
    Bad:  managedResources: [{name: example.com/gpu, ignoredByScheduler: true}] with NodeResourcesFit disabled
    Good: managedResources: [{name: example.com/gpu, ignoredByScheduler: true}] with NodeResourcesFit as it is
    Source: kubernetes pkg/scheduler/scheduler.go, buildExtenders; measured on kube-scheduler 1.37.2.
    """
    lacking = [
        profile.name
        for profile in configuration.profiles
        if not profile.is_needed(FIT) and all(name != FIT for _, name, _ in profile.plugin_configs())
    ]
    for index, extender in objects(configuration.at("extenders")):
        for number, resource in objects(extender.get("managedResources")):
            if resource.get("ignoredByScheduler") is True and lacking:
                yield error(
                    "extender-resource-without-fit",
                    ("extenders", index, "managedResources", number, "ignoredByScheduler"),
                    f"profile {lacking[0]} has no {FIT}, which would have to ignore {text(resource.get('name'))}",
                )


def extender_tls_refused(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """TLS of an extender that is insecure and has a certificate authority, or whose data are no certificate or key.

    Why: kube-scheduler refuses both and ends at its start. Files are not looked at.
    Bad:  tlsConfig: {insecure: true, caFile: /etc/ca.crt}
    Good: tlsConfig: {caFile: /etc/ca.crt}
    Source: client-go rest, TLSConfigFor; measured on kube-scheduler 1.37.2.
    """
    for index, extender in objects(configuration.at("extenders")):
        tls, path = mapping(extender.get("tlsConfig")), ("extenders", index, "tlsConfig")
        data = text(tls.get("caData"))
        if data and not has_certificate(data):
            yield error("extender-tls-refused", (*path, "caData"), "caData holds no certificate in PEM form")
        if tls.get("certData") and tls.get("keyData"):
            for field, what, holds in (("certData", "certificate", has_certificate), ("keyData", "key", has_key)):
                if not holds(text(tls.get(field))):
                    yield error("extender-tls-refused", (*path, field), f"{field} holds no {what} in PEM form")
        if tls.get("insecure") is True and (tls.get("caFile") or tls.get("caData")):
            message = "tlsConfig is insecure and names a certificate authority; kube-scheduler takes one of them"
            yield error("extender-tls-refused", (*path, "insecure"), message)
