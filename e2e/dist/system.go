package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// system makes the packages of Linux distributions, with nfpm, which scripts/tools.mod names.
func (r *release) system(t target, programs []file, scratch string) error {
	dir, err := os.MkdirTemp(scratch, "system-")
	if err != nil {
		return err
	}
	var contents []map[string]any
	add := func(place string, f file) error {
		src := filepath.Join(dir, strconv.Itoa(len(contents)))
		mode := 0o644
		if f.exec {
			mode = 0o755
		}
		contents = append(contents, map[string]any{"src": src, "dst": place,
			"file_info": map[string]any{"mode": mode, "owner": "root", "group": "root", "mtime": r.time}})
		return os.WriteFile(src, f.data, os.FileMode(mode))
	}
	for _, f := range programs {
		if err := add("/usr/bin/"+f.name, f); err != nil {
			return err
		}
	}
	for _, f := range r.shared {
		if err := add("/usr/share/"+f.name, f); err != nil {
			return err
		}
		if f.name == "doc/c2c/LICENSE" { // Debian's name for this file is copyright
			if err := add("/usr/share/doc/c2c/copyright", f); err != nil {
				return err
			}
		}
	}
	config, err := json.Marshal(map[string]any{ // JSON is YAML
		"name": "c2c", "arch": t.arch, "platform": t.os, "version": r.version, "version_schema": "none", "mtime": r.time, "section": "utils", "priority": "optional",
		"maintainer": "the c2c authors <c2c@localhost>", "license": "MIT", "contents": contents,
		"description": "mail between coding agents\nCarries messages between sessions of coding agents on one machine.",
		"rpm":         map[string]any{"buildhost": "localhost", "summary": "mail between coding agents"},
	})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "nfpm.yaml")
	if err := os.WriteFile(file, config, 0o644); err != nil {
		return err
	}
	for kind, name := range map[string]string{"deb": "c2c_%s_%s.deb", "rpm": "c2c-%s.%s.rpm"} {
		arch := t.arch
		if kind == "rpm" {
			arch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]
		}
		made := filepath.Join(dir, kind)
		_, err := run(r.module, []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.time.Unix(), 10), "GOFLAGS="},
			"go", "tool", "-modfile="+filepath.Join("scripts", "tools.mod"), "nfpm", "package", "--config", file, "--packager", kind, "--target", made)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(made)
		if err == nil {
			err = r.write(fmt.Sprintf(name, r.version, arch), data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
