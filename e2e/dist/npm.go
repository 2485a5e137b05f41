package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// mainPackage is the package that a person installs from npm. It has a small shell script and, as
// optional dependencies, one package with the programs for each system. No script runs during the
// installation. When c2c is called, the shell script starts the program without node.
const mainPackage = "c2c-mail"

//go:embed launcher.sh
var launcher []byte

// platform returns node's names for a system.
func (t target) platform() (os, cpu string) {
	return t.os, map[string]string{"amd64": "x64", "arm64": "arm64"}[t.arch]
}

func (t target) packageName() string {
	os, cpu := t.platform()
	return mainPackage + "-" + os + "-" + cpu
}

// npm makes the package of one system.
func (r *release) npm(t target, programs []file) error {
	os, cpu := t.platform()
	var files []file
	for _, f := range programs {
		files = append(files, file{"bin/" + f.name, f.data, true})
	}
	return r.npmPackage(t.packageName(), files, map[string]any{
		"description": fmt.Sprintf("The programs of %s for %s %s", mainPackage, os, cpu), "os": []string{os}, "cpu": []string{cpu}, "preferUnplugged": true})
}

// launcher makes the main package, which depends on the packages of all systems.
func (r *release) launcher(targets []target) error {
	others := map[string]string{}
	for _, t := range targets {
		others[t.packageName()] = r.version
	}
	return r.npmPackage(mainPackage, []file{{"bin/c2c", launcher, true}}, map[string]any{
		"description": "Mail between coding agents", "bin": map[string]string{"c2c": "bin/c2c"}, "os": []string{"linux", "darwin"},
		"optionalDependencies": others})
}

func (r *release) npmPackage(name string, files []file, fields map[string]any) error {
	fields["name"], fields["version"], fields["license"] = name, r.version, "MIT"
	manifest, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		return err
	}
	files = append(files, file{name: "package.json", data: append(manifest, '\n')})
	for _, f := range r.shared {
		if f.name == "doc/c2c/LICENSE" || f.name == "doc/c2c/README.md" {
			files = append(files, file{name: f.name[len("doc/c2c/"):], data: f.data})
		}
	}
	for i := range files {
		files[i].name = "package/" + files[i].name
	}
	data, err := r.tarball(files)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("%s-%s.tgz", name, r.version), data)
}
