"""A kubeconfig read by the official client, with what it leaves unsaid: contexts, plugins that fail, impersonation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gpupolicy.cluster.transport import errors_heard, plain
from gpupolicy.errors import ClusterError, InputError, reason_of, shown
from gpupolicy.suggestions import find_nearest

if TYPE_CHECKING:
    from kubernetes.client import Configuration

_MOST_LISTED = 20


def load_kubeconfig(
    paths: tuple[str, ...], context: str | None, configuration: Configuration
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Loads the way to a cluster, and who we are there.

    Args:
        paths: kubeconfigs, merged as kubectl merges them; those that are not there are left out.
        context: which one of them; None: the current one.
        configuration: takes what is found.

    Returns:
        The context's name, and the headers of an impersonation (``as`` in the kubeconfig).

    Raises:
        InputError: they are no kubeconfigs, or have no such context.
        ClusterError: a credential plugin fails.
    """
    from kubernetes.config import ConfigException, kube_config
    from yaml import MarkedYAMLError, YAMLError

    file = os.pathsep.join(paths)
    merge: Any = kube_config.KubeConfigMerger  # it has no types
    load: Any = kube_config.KubeConfigLoader
    try:
        merged = merge(file).config
        if merged is None:
            raise InputError("is not there", file=file)
        name = context or merged.value.get("current-context") or ""
        user = _user_of(merged.value, name, file)
        with errors_heard() as heard:
            load(merged, active_context=name, config_base_path=None).load_and_set(configuration)
        _check_plugin(user, configuration, heard)
        return name, _impersonation(user)
    except OSError as error:
        raise InputError(f"cannot be read: {reason_of(error)}", file=error.filename or file) from error
    except MarkedYAMLError as error:
        mark = error.problem_mark  # of a file among several
        named, line = (mark.name, mark.line + 1) if mark is not None else (file, None)
        raise InputError(f"is no kubeconfig: {plain(error.problem or error)}", file=named, line=line) from error
    except (ConfigException, YAMLError) as error:
        raise InputError(f"is no kubeconfig that can be used: {plain(error)}", file=file) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:  # the client trusts the shape
        raise InputError("is no kubeconfig", file=file) from error


def _user_of(config: Mapping[str, Any], context: str, file: str) -> Mapping[str, Any]:
    """Returns the user of a context, empty where it has none.

    Raises:
        InputError: there is no such context, cluster or user.
    """
    contexts = _named(config, "contexts")
    if context not in contexts:
        raise InputError(_no_context(context, sorted(contexts)), file=file)
    chosen = contexts[context]["context"]
    for kind in ("cluster", "user"):
        if chosen.get(kind) and chosen[kind] not in _named(config, f"{kind}s"):
            told = f"context {shown(context)} names the {kind} {shown(chosen[kind])}, which is not there"
            raise InputError(told, file=file)
    if not chosen.get("user"):
        return {}
    return _named(config, "users")[chosen["user"]].get("user") or {}


def _named(config: Mapping[str, Any], kind: str) -> dict[str, Mapping[str, Any]]:
    """Returns the entries of a merged kubeconfig by name; the client wraps each in an object of its own."""
    entries = [getattr(entry, "value", entry) for entry in config.get(kind) or []]
    return {entry["name"]: entry for entry in entries}


def _no_context(context: str, known: list[str]) -> str:
    listed = ", ".join(shown(name) for name in known[:_MOST_LISTED]) or "none"
    more = f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
    if not context:
        return f"has no current-context: set it, or name a context; there are: {listed}{more}"
    nearest = find_nearest(context, known)
    hint = f"did you mean {nearest}? " if nearest else ""
    return f"has no context {shown(context)}: {hint}there are: {listed}{more}"


def _check_plugin(user: Mapping[str, Any], configuration: Configuration, heard: list[str]) -> None:
    """The client goes on without credentials where a plugin fails, and the API server's answer says nothing of it.

    Raises:
        ClusterError: the plugin of this user gave none.
    """
    plugin = user.get("exec")
    if not plugin or configuration.api_key or configuration.cert_file:
        return
    told = shown(" ".join(" ".join(heard).split()), 300).removeprefix("exec: ") or "it gave none"
    hint = plugin.get("installHint")
    more = f"; {shown(' '.join(str(hint).split()), 200)}" if hint else ""
    raise ClusterError(f"no credentials from the plugin {shown(str(plugin.get('command')))}: {told}{more}")


def _impersonation(user: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Returns headers for ``as``, ``as-uid``, ``as-groups`` and ``as-user-extra``, which the client does not know.

    Without them we would act with the rights of who may impersonate, usually an administrator.

    Source: kubernetes.io/docs/reference/access-authn-authz/authentication, "User impersonation".
    """
    if not user.get("as"):
        return ()
    headers = [("Impersonate-User", str(user["as"]))]
    headers += [("Impersonate-Uid", str(user["as-uid"]))] if user.get("as-uid") else []
    headers += [("Impersonate-Group", str(group)) for group in user.get("as-groups") or ()]
    for key, values in (user.get("as-user-extra") or {}).items():
        headers += [(f"Impersonate-Extra-{quote(str(key), safe='')}", str(value)) for value in values]
    return tuple(headers)
