module gpupolicy.dev/load

go 1.22
