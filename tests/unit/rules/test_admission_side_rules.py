from __future__ import annotations

import pytest
from policy_texts import EXEMPTIONS, found, group, hints, rules


class TestExemptions:
    @pytest.mark.parametrize(
        "exemption",
        [
            '{namespaces: ["kube-*"], reason: parts of the cluster itself}',
            "{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}, reason: the same}",
        ],
        ids=["pattern", "label"],
    )
    def test_the_system_namespace_may_be_covered_in_many_ways(self, exemption: str) -> None:
        assert rules(exemptions=exemption) == []

    @pytest.mark.parametrize(
        "exemption",
        [
            "{namespaces: [kube-system], ownerKinds: [DaemonSet], reason: daemons only}",
            "{namespaces: [kube-system], podSelector: {matchLabels: {a: b}}, reason: some pods only}",
            "{namespaces: [kube-public], reason: another namespace}",
        ],
        ids=["owners", "pods", "other"],
    )
    def test_a_part_of_the_system_namespace_is_not_all_of_it(self, exemption: str) -> None:
        assert found(exemptions=exemption) == [("system-namespace-not-exempt", "no exemption covers kube-system")]

    @pytest.mark.parametrize(
        "conditions",
        [
            "",
            'namespaces: ["*"], ',
            'namespaces: [lab, "**"], ',
            'namespaces: ["?*"], ',
            "podSelector: {}, ",
            'serviceAccounts: ["*/*"], ',
            'serviceAccounts: ["**/?*"], ',
            "namespaceSelector: {}, ",
            "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: Exists}]}, ",
        ],
        ids=[
            "none",
            "all-namespaces",
            "two-stars",
            "one-character-or-more",
            "all-pods",
            "all-accounts",
            "all-accounts-otherwise",
            "all-labels",
            "all-names",
        ],
    )
    def test_an_exemption_that_chooses_nobody_exempts_all(self, conditions: str) -> None:
        assert "exemption-of-everything" in rules(exemptions=f"{EXEMPTIONS}, {{{conditions}reason: why not}}")

    def test_the_default_namespace_of_the_webhook_needs_no_word(self) -> None:
        assert rules(webhook="{replicas: 2}") == []

    def test_a_namespace_that_the_policy_names_does(self) -> None:
        assert found(webhook="{namespace: gpu-system}") == [
            ("own-namespace-not-exempt", "no exemption covers gpu-system, the webhook's own namespace")
        ]

    def test_kinds_of_others_are_left_alone(self) -> None:
        assert (
            rules(exemptions=f"{EXEMPTIONS}, {{namespaces: [lab], ownerKinds: [RayJob, Node], reason: theirs}}") == []
        )

    @pytest.mark.parametrize("kind", ["DaemonSets", "daemonset", "DeamonSet", "DaemonsSet", "apps/v1/DaemonSet"])
    def test_a_slip_in_an_owner_kind_is_told(self, kind: str) -> None:
        exemptions = f"{EXEMPTIONS}, {{ownerKinds: [{kind}], reason: one pod a node}}"

        assert (rules(exemptions=exemptions), hints(exemptions=exemptions)) == (
            ["owner-kind-misspelt"],
            ["did you mean DaemonSet"],
        )

    @pytest.mark.parametrize("kind", ["JobSet", "MPIJob", "PyTorchJob", "CloneSet", "NodeClaim", "Notebook"])
    def test_a_kind_of_others_is_no_slip(self, kind: str) -> None:
        assert rules(exemptions=f"{EXEMPTIONS}, {{namespaces: [lab], ownerKinds: [{kind}], reason: theirs}}") == []

    @pytest.mark.parametrize(
        ("exemption", "expected"),
        [
            ("podSelector: {matchLabels: {a: b}}", True),
            ("serviceAccounts: ['*/runner']", True),
            ("serviceAccounts: [ci/runner]", False),
            ("serviceAccounts: ['ci-*/runner']", False),
            ("ownerKinds: [Sandbox]", True),
            ("ownerKinds: [Sandbox, Job]", True),
            ("ownerKinds: [Job]", False),
            ("ownerKinds: [Node]", False),
            ("ownerKinds: [Job], podSelector: {matchLabels: {a: b}}", False),
            ("serviceAccounts: [ci/runner], podSelector: {matchLabels: {a: b}}", False),
            ("namespaces: [ci], podSelector: {matchLabels: {a: b}}", False),
            ("namespaces: ['*'], podSelector: {matchLabels: {a: b}}", True),
            ("namespaceSelector: {matchLabels: {a: b}}, podSelector: {matchLabels: {a: b}}", False),
        ],
    )
    def test_what_an_author_can_write_himself_needs_a_namespace_beside_it(self, exemption: str, expected: bool) -> None:
        found = rules(exemptions=f"{EXEMPTIONS}, {{{exemption}, reason: theirs}}")

        assert found == (["exemption-forgeable"] if expected else [])


class TestAccess:
    def test_a_type_and_a_group_that_never_meet_grant_nothing(self) -> None:
        types = "{name: V100, gpusPerNode: 8}, {name: T4, gpusPerNode: 8}"
        groups = f"{group('A', '1, 2, 4, 8', 'V100')}, {group('B', '1, 2, 4, 8', 'T4')}"
        access = "{namespaces: [x], gpuTypes: [V100], slotGroups: [B]}, {namespaces: [z]}"

        assert found(types=types, groups=groups, access=access) == [
            (
                "access-allows-nothing",
                "none of these groups claims nodes of any of these types, so this entry grants nothing",
            )
        ]

    def test_an_unknown_name_is_told_alone(self) -> None:
        access = "{namespaces: [x], gpuTypes: [V10], slotGroups: [SLOT-ALL]}, {namespaces: [z]}"

        assert rules(access=access) == ["access-type-unknown"]
        assert hints(access=access) == ["did you mean V100"]

    def test_a_group_whose_types_nobody_may_use_is_idle(self) -> None:
        types = "{name: V100, gpusPerNode: 8}, {name: T4, gpusPerNode: 8}"
        groups = f"{group('A', '1, 2, 4, 8', 'V100')}, {group('B', '1, 2, 4, 8', 'T4')}"

        assert found(types=types, groups=groups, access="{gpuTypes: [V100]}") == [
            ("slot-group-without-access", "no entry of access grants slot group B")
        ]


class TestEnforcement:
    @pytest.mark.parametrize(
        ("overrides", "reached"),
        [
            ("{action: warn}, {action: audit}", False),
            ("{rules: [node-name-set], action: warn}, {rules: [access-denied], action: audit}", True),
            ("{rules: [node-name-set, access-denied], action: warn}, {rules: [access-denied], action: audit}", False),
            ("{rules: [node-name-set], action: warn}, {action: audit}", True),
            ("{namespaces: [a], action: warn}, {namespaces: [b], action: audit}", True),
            ("{namespaces: [a], action: warn}, {namespaces: [a], rules: [access-denied], action: audit}", False),
            ("{namespaces: [a, b], action: warn}, {namespaces: [b], action: audit}", False),
            ("{namespaces: [b], action: warn}, {namespaces: [a, b], action: audit}", True),
            ('{namespaces: ["team-*"], action: warn}, {namespaces: [team-a, "team-b-*"], action: audit}', False),
            ('{namespaces: ["team-?"], action: warn}, {namespaces: ["team-*"], action: audit}', True),
            ('{namespaces: ["*"], action: warn}, {action: audit}', False),
            (
                "{namespaceSelector: {matchLabels: {env: test}}, action: warn}, "
                "{namespaces: [a], namespaceSelector: {matchLabels: {env: test, team: a}}, action: audit}",
                False,
            ),
            ("{namespaceSelector: {matchLabels: {env: test}}, action: warn}, {namespaces: [a], action: audit}", True),
        ],
    )
    def test_an_override_behind_a_wider_one_is_never_reached(self, overrides: str, reached: bool) -> None:
        found_rules = rules(enforcement=f"{{overrides: [{overrides}]}}")

        assert found_rules == ([] if reached else ["override-never-reached"])

    def test_a_near_rule_is_offered(self) -> None:
        assert hints(enforcement="{overrides: [{rules: [node-name], action: warn}]}") == ["did you mean node-name-set"]


class TestNamespaces:
    @pytest.mark.parametrize("name", ["team_a", "Team", "a,b", "a.b", "Team-*", "kube-*,gpu-*", "team-.*", "team-[ab"])
    def test_a_namespace_that_cannot_exist_is_told(self, name: str) -> None:
        assert rules(access=f'{{namespaces: ["{name}"]}}') == ["namespace-name-not-dns"]

    @pytest.mark.parametrize("pattern", ["team-*", "*-team", "t?am", "team-[ab]", "team-[!a]", "*", f"{'a' * 63}*"])
    def test_patterns_are_no_names(self, pattern: str) -> None:
        assert rules(access=f'{{namespaces: ["{pattern}"]}}') == []


class TestSelectors:
    @pytest.mark.parametrize(
        ("expression", "message"),
        [
            (
                "{key: a/b/c, operator: Exists}",
                '"a/b/c" is no label key: prefix may hold lower case letters, digits, ',
            ),
            ("{key: a, operator: Exists, values: [x]}", "Exists takes no values"),
            ("{key: a, operator: In}", "In needs values"),
            ("{key: a, operator: Gt, values: [x]}", "Gt takes one whole number"),
            ("{key: a, operator: NotIn, values: [b c]}", '"b c" is no label value: it may hold letters, digits, '),
        ],
        ids=["key", "exists", "in", "gt", "value"],
    )
    def test_an_expression_that_kubernetes_refuses_is_told(self, expression: str, message: str) -> None:
        types = f"{{name: V100, gpusPerNode: 8, nodeSelector: {{matchExpressions: [{expression}]}}}}"
        ((rule, said),) = found(types=types)

        assert rule == "selector-not-valid"
        assert said.startswith(message)

    def test_selectors_of_exemptions_are_looked_at_too(self) -> None:
        exemption = "{namespaces: [lab], podSelector: {matchLabels: {a_: b}}, reason: some}"

        assert rules(exemptions=f"{EXEMPTIONS}, {exemption}") == ["selector-not-valid"]


class TestOwnLabels:
    @pytest.mark.parametrize(
        ("selector", "expected"),
        [
            ("matchLabels: {my.gpu.cluster/node-group: B}", ["selector-key-own"]),
            ("matchLabels: {my.gpu.cluster/gpu-type: T4}", ["selector-key-own"]),
            ("matchExpressions: [{key: my.gpu.cluster/node-group, operator: DoesNotExist}]", ["selector-key-own"]),
            ("matchLabels: {my.gpu.cluster/node-group: A}", []),
            ("matchLabels: {my.gpu.cluster/gpu-type: V100}", []),
            ("matchLabels: {other.cluster/node-group: B}", []),
        ],
        ids=["another-group", "another-type", "unlabelled", "own-group", "own-type", "another-prefix"],
    )
    def test_a_claim_that_undoes_itself_is_told(self, selector: str, expected: list[str]) -> None:
        groups = f"{{name: A, sizes: [1, 2, 4, 8], nodes: [{{gpuType: V100, nodeSelector: {{{selector}}}}}]}}"

        assert rules(groups=groups) == expected

    def test_a_type_is_known_again_by_its_label(self) -> None:
        types = "{name: V100, gpusPerNode: 8, nodeSelector: {matchLabels: {my.gpu.cluster/gpu-type: volta}}}"

        assert rules(types=types) == []


class TestLabels:
    @pytest.mark.parametrize(
        ("prefix", "guard", "expected"),
        [
            ("my.gpu.cluster", "true", []),
            ("my.gpu.cluster", "false", ["label-key-unguarded"]),
            ("node-restriction.kubernetes.io", "false", []),
            ("gpu.node-restriction.kubernetes.io", "false", []),
            ("my-node-restriction.kubernetes.io", "true", ["label-prefix-reserved"]),
            ("node.kubernetes.io", "true", ["label-prefix-reserved"]),
            ("k8s.io", "true", ["label-prefix-reserved"]),
            ("notk8s.io", "true", []),
        ],
    )
    def test_a_prefix_is_ours_and_guarded(self, prefix: str, guard: str, expected: list[str]) -> None:
        assert rules(labels=f"{{prefix: {prefix}, guard: {guard}}}") == expected


class TestTypes:
    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("gpu", "gpu is no extended resource: it has no domain, as in nvidia.com/gpu"),
            ("nvidia.com/", "nvidia.com/ is no extended resource: it has an empty name"),
            (
                "kubernetes.io/gpu",
                "kubernetes.io/gpu is no extended resource: kubernetes.io belongs to Kubernetes itself",
            ),
            (
                "mykubernetes.io/gpu",
                "mykubernetes.io/gpu is no extended resource: kubernetes.io belongs to Kubernetes itself",
            ),
            (
                "requests.nvidia.com/gpu",
                "requests.nvidia.com/gpu is no extended resource: names that start with requests. are kept for quotas",
            ),
        ],
    )
    def test_what_kubernetes_does_not_count_cannot_be_counted(self, name: str, message: str) -> None:
        types = f"{{name: V100, gpusPerNode: 8, resourceName: {name}}}"

        assert found(types=types) == [("resource-name-not-extended", message)]

    def test_a_device_class_belongs_into_its_own_list(self) -> None:
        types = "{name: V100, gpusPerNode: 8, resourceName: deviceclass.resource.kubernetes.io/gpu}"

        assert hints(types=types) == ["list the class in deviceClasses"]


class TestRecognition:
    @pytest.mark.parametrize(
        ("other", "message"),
        [
            (
                "matchExpressions: [{key: model, operator: In, values: [v100]}]",
                "V100-32GB recognises the same nodes as V100",
            ),
            (
                'matchLabels: {model: v100, memory: "32"}',
                "V100 recognises every node of V100-32GB, which is of both types then",
            ),
            (
                "matchExpressions: [{key: model, operator: Exists}]",
                "V100-32GB recognises every node of V100, which is of both types then",
            ),
        ],
        ids=["otherwise-written", "narrower", "wider"],
    )
    def test_types_that_share_nodes_are_told(self, other: str, message: str) -> None:
        types = (
            "{name: V100, gpusPerNode: 8, nodeSelector: {matchLabels: {model: v100}}}, "
            f"{{name: V100-32GB, gpusPerNode: 8, nodeSelector: {{{other}}}}}"
        )

        assert found(types=types, groups=group("A", "1, 2, 4, 8", "V100", "V100-32GB")) == [
            ("gpu-type-selector-repeated", message)
        ]

    def test_types_that_share_a_label_may_differ_by_another(self) -> None:
        types = (
            '{name: V100, gpusPerNode: 8, nodeSelector: {matchLabels: {model: v100, memory: "16"}}}, '
            '{name: V100-32GB, gpusPerNode: 8, nodeSelector: {matchLabels: {model: v100, memory: "32"}}}'
        )

        assert rules(types=types, groups=group("A", "1, 2, 4, 8", "V100", "V100-32GB")) == []


class TestWebhook:
    @pytest.mark.parametrize(
        ("webhook", "expected"),
        [
            ("{timeoutSeconds: 4}", ["webhook-timeout-long"]),
            ("{timeoutSeconds: 4, failurePolicy: Ignore}", []),
            ("{replicas: 1}", ["webhook-alone"]),
            ("{replicas: 1, failurePolicy: Ignore}", []),
            ("{name: Hook}", ["webhook-name-not-dns"]),
            ("{certificates: {secretName: a_b}}", ["webhook-name-not-dns"]),
            ("{certificates: {mode: certManager, issuer: Issuer/My_CA}}", ["webhook-name-not-dns"]),
        ],
    )
    def test_a_webhook_does_not_stop_the_cluster(self, webhook: str, expected: list[str]) -> None:
        assert rules(webhook=webhook) == expected
