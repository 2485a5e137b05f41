package install

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"c2c/client"
	"c2c/internal/format"
)

// A program is looked at where npm and other installers put it; only one that does not say its
// version there is run.
func TestTheInstalledVersionIsComparedWithTheTestedOne(t *testing.T) {
	codex, _ := client.Find(Codex)
	tested := codex.Tested
	says := func(version string) string {
		return "#!/bin/sh\nmkdir \"$HOME/.codex\"\necho codex-cli " + version + "\n"
	}
	for name, tc := range map[string]struct {
		files  map[string]string
		status format.Status
		want   string
	}{
		"of npm":        {map[string]string{"m/codex/bin/run": "#!/bin/false\n", "m/codex/package.json": `{"name":"@openai/codex","version":"` + tested + `"}`}, format.OK, tested},
		"for a system":  {map[string]string{"m/codex/bin/run": "#!/bin/false\n", "m/codex/package.json": `{"name":"@openai/codex","version":"` + tested + `-linux-x64"}`}, format.OK, tested},
		"newer":         {map[string]string{"m/codex/bin/run": "#!/bin/false\n", "m/codex/package.json": `{"name":"@openai/codex","version":"99.1.0-alpha.2"}`}, format.OK, "version 99.1.0-alpha.2; c2c was tested with " + tested},
		"by its name":   {map[string]string{"versions/" + tested: "#!/bin/false\n"}, format.OK, tested},
		"asked":         {map[string]string{"opt/run": says(tested)}, format.OK, tested},
		"in another":    {map[string]string{"m/my/bin/run": says("98.0.1"), "m/my/package.json": `{"name":"mine","version":"1.0.0"}`}, format.OK, "version 98.0.1; c2c was tested with "},
		"damaged":       {map[string]string{"m/codex/run": says("98.0.2"), "m/codex/package.json": `{"name":"codex","version":`}, format.OK, "version 98.0.2; c2c was tested with "},
		"silent":        {map[string]string{"opt/run": "#!/bin/sh\necho hello\n"}, format.Warning, `does not print its version: it printed "hello\n"`},
		"broken":        {map[string]string{"opt/run": "#!/bin/false\n"}, format.Warning, "does not print its version: exit status 1"},
		"not installed": {nil, format.Warning, "not on the PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.env["PATH"] += ":/usr/bin:/bin"
			for path, content := range tc.files {
				b.write(path, content, 0o755)
				if !strings.HasSuffix(path, ".json") {
					if err := os.Symlink(b.path(path), b.path("bin/codex")); err != nil {
						t.Fatal(err)
					}
				}
			}
			f := Program(t.Context(), Codex, b.o)
			if f.Status != tc.status || !strings.Contains(f.Detail, tc.want) {
				t.Errorf("%s: %s, want %s: %s", f.Status, f.Detail, tc.status, tc.want)
			}
			if left, err := os.ReadDir(b.o.Home); err != nil || len(left) > 0 {
				t.Errorf("left in the home: %v, %v", left, err)
			}
		})
	}
}

// A client that has no package could not be run, and doctor says so without starting it.
func TestEveryClientHasATestedVersionOrIsSaidToHaveNone(t *testing.T) {
	b := newBox(t)
	for _, p := range client.All() {
		if said := strings.Contains(Program(t.Context(), p.Name, b.o).Detail, "could not be tested"); said != (p.Package == "") {
			t.Errorf("%s: tested %q, package %q, doctor says that it was not: %v", p.Name, p.Tested, p.Package, said)
		}
	}
}

// A client that has a profile is shown in help and documents, so c2c install must take its name.
func TestEveryClientCanBeInstalled(t *testing.T) {
	if here, all := slices.Sorted(maps.Keys(registered)), slices.Sorted(slices.Values(client.Names())); !slices.Equal(here, all) {
		t.Errorf("package install has files for %q, and package client for %q", here, all)
	}
}
