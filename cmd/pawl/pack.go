package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// maxPacked is the largest packed folder, in bytes.
const maxPacked = 256 << 20

// pack puts the files of a workflow's folder that an engine reads, and no
// others, into a zip archive: whoever deploys it needs neither the folder nor
// the right to read it.
func pack(folder fs.FS) ([]byte, error) {
	read := &recorder{FS: folder, files: map[string][]byte{}}
	f, err := pawl.ReadFolder(read)
	if err != nil {
		return nil, err
	}
	if _, err := f.Digest(); err != nil { // reads the modules
		return nil, err
	}
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(read.files)) {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(read.files[name])
		}
		if err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// unpack is the folder again.
func unpack(packed []byte) (fs.FS, error) {
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, fmt.Errorf("the packed folder cannot be read: %w", err)
	}
	for _, file := range archive.File {
		if file.Method != zip.Store {
			return nil, fmt.Errorf("the packed folder holds %s compressed: nobody packs like that", file.Name)
		}
	}
	return archive, nil
}

// recorder keeps what is read through it.
type recorder struct {
	fs.FS
	files map[string][]byte
}

// ReadFile implements [fs.ReadFileFS].
func (r *recorder) ReadFile(name string) ([]byte, error) {
	text, err := fs.ReadFile(r.FS, name)
	if err == nil {
		r.files[name] = text
	}
	return text, err
}
