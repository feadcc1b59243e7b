"""From the policy's plan for nodes to steps: what changes, what it costs, what has drifted. Pure."""
