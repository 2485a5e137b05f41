package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"slices"
)

// archive makes the .tar.gz of a system. It can be unpacked anywhere: the programs are in bin, all
// other files in share.
func (r *release) archive(t target, programs []file) error {
	top := "c2c-" + r.version + "/"
	var files []file
	for _, f := range programs {
		files = append(files, file{top + "bin/" + f.name, f.data, true})
	}
	for _, f := range r.shared {
		files = append(files, file{top + "share/" + f.name, f.data, false})
	}
	data, err := r.tarball(files)
	if err != nil {
		return err
	}
	return r.write(r.archiveName(t), data)
}

func (r *release) archiveName(t target) string {
	return fmt.Sprintf("c2c-%s-%s-%s.tar.gz", r.version, t.os, t.arch)
}

// tarball packs files in the order of their names.
func (r *release) tarball(files []file) ([]byte, error) {
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	pack := tar.NewWriter(zip)
	for _, f := range files {
		mode := int64(0o644)
		if f.exec {
			mode = 0o755
		}
		if err := pack.WriteHeader(&tar.Header{Name: f.name, Mode: mode, Size: int64(len(f.data)), ModTime: r.time, Uname: "root", Gname: "root"}); err != nil {
			return nil, err
		}
		if _, err := pack.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := pack.Close(); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
