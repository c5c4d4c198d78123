package dataset

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// MaxBytes is how much a file may hold, and a Parquet file without its compression, unless
// a source says otherwise.
const MaxBytes = 1 << 30

// A Source tells where rows are and which of them are wanted.
type Source struct {
	// Path is a file, or a folder with the files of the splits. In it, {subset} and
	// {split} stand for the two. "" means that the rows are fetched from Hub.
	Path string
	Hub  Hub
	// Repo is the dataset on the hub; "" means that of Subset. Revision is a commit, a
	// branch or a tag, "" meaning main; only a commit names the same rows for ever.
	Repo, Revision string
	// Files are the files of the folder or the hub that hold the rows, in this order;
	// none means those of the split, Parquet before JSON Lines before JSON.
	Files []string

	Subset string // verified, or lite; "" means verified
	Split  string // "" means test
	// Filter and Slice choose rows, in this order, as the functions of these names do.
	Filter, Slice string

	// IDColumn is the column of the instance IDs; "" means instance_id.
	IDColumn string
	// MaxBytes is the limit for a file; 0 means the constant.
	MaxBytes int64
}

// ID is the dataset that a subset names: verified or lite, and "" is verified.
func ID(subset string) (string, error) {
	switch subset {
	case "", "verified":
		return "princeton-nlp/SWE-bench_Verified", nil
	case "lite":
		return "princeton-nlp/SWE-bench_Lite", nil
	}
	return "", fault("", "there is no subset %q; want verified or lite, or name the dataset itself", subset)
}

// Load reads the rows of a source, in their order. The error is that of ctx, of the file
// system or the network, or an *[Error].
func Load(ctx context.Context, source Source) ([]Row, error) {
	files, err := source.files(ctx)
	if err != nil {
		return nil, err
	}
	reader := newRowReader(source.IDColumn)
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := reader.file(file, source.limit()); err != nil {
			return nil, err
		}
	}
	rows, err := Filter(reader.rows, source.Filter)
	if err == nil {
		rows, err = Slice(rows, source.Slice)
	}
	if err != nil {
		return nil, err
	}
	rows = slices.Clone(rows)
	for i := range rows { // or a few rows would keep the whole file
		rows[i].Raw = bytes.Clone(rows[i].Raw)
	}
	return rows, nil
}

// Parse reads rows that are JSON or JSON Lines already; name stands for the file in errors.
func Parse(name string, data []byte) ([]Row, error) {
	reader := newRowReader("")
	err := reader.text(name, data)
	return reader.rows, err
}

func (s Source) limit() int64 {
	if s.MaxBytes > 0 {
		return s.MaxBytes
	}
	return MaxBytes
}

func (s Source) split() string {
	if s.Split == "" {
		return "test"
	}
	return s.Split
}

// files are the paths of the files with the rows.
func (s Source) files(ctx context.Context) ([]string, error) {
	if strings.ContainsAny(s.split(), `/\`) || s.split() == ".." {
		return nil, fault("", "split %q cannot be a part of a file's name", s.Split)
	}
	if s.Path == "" {
		return s.fetch(ctx)
	}
	if strings.Contains(s.Path, "{subset}") {
		if _, err := ID(s.Subset); err != nil {
			return nil, err
		}
	}
	subset := s.Subset
	if subset == "" {
		subset = "verified"
	}
	path := strings.NewReplacer("{subset}", subset, "{split}", s.split()).Replace(s.Path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault("", "%w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	names := s.Files
	if len(names) == 0 {
		if names, err = walk(path); err == nil {
			names, err = splitFiles(path, names, s.split())
		}
	}
	if err != nil {
		return nil, err
	}
	files := make([]string, len(names))
	for i, name := range names {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, fault(path, "%q is outside of the folder", name)
		}
		files[i] = filepath.Join(path, filepath.FromSlash(name))
	}
	return files, nil
}

func walk(root string) (names []string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return nil, fault("", "%w", err)
	}
	return names, nil
}

// shard is the end of the name of a file that is one of several.
var shard = regexp.MustCompile(`^(.*)-(\d{1,9})-of-(\d{1,9})$`)

// splitFiles are those of the names that hold a split: test.parquet, test-00000-of-00002.parquet
// and its other shards, or test.jsonl, in any folder. More than one candidate is an error:
// the wrong rows are worse than none.
func splitFiles(where string, names []string, split string) ([]string, error) {
	for _, extension := range []string{".parquet", ".jsonl", ".json"} {
		shards := map[string][]string{} // by folder and number of shards
		for _, name := range names {
			stem, ok := strings.CutSuffix(name, extension)
			if !ok {
				continue
			}
			folder, base := "", stem
			if i := strings.LastIndexByte(stem, '/'); i >= 0 {
				folder, base = stem[:i+1], stem[i+1:]
			}
			of := ""
			if parts := shard.FindStringSubmatch(base); parts != nil {
				base, of = parts[1], parts[3]
			}
			if base == split {
				shards[folder+split+" "+of] = append(shards[folder+split+" "+of], name)
			}
		}
		if len(shards) > 1 {
			var all []string
			for _, group := range shards {
				all = append(all, group...)
			}
			slices.Sort(all)
			return nil, fault(where, "%d sets of files can be the split %q, such as %s and %s; name the files that are meant", len(shards), split, all[0], all[len(all)-1])
		}
		for group, found := range shards {
			slices.Sort(found)
			want := 1
			if _, of, _ := strings.Cut(group, split+" "); of != "" {
				want, _ = strconv.Atoi(of)
			}
			if len(found) != want {
				return nil, fault(where, "the split %q has %d of %d files; the others are missing", split, len(found), want)
			}
			return found, nil
		}
	}
	return nil, fault(where, "there is no file for the split %q; want a name such as %s.parquet or %s-00000-of-00001.parquet", split, split, split)
}

// file reads the rows of one file.
func (r *rowReader) file(name string, limit int64) error {
	f, err := os.Open(name) //nolint:gosec // the caller names the file
	if err != nil {
		return fault("", "%w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return fault("", "%w", err)
	}
	if info.IsDir() {
		return fault(name, "it is a folder")
	}
	if info.Size() > limit {
		return fault(name, "it has %d bytes, the limit is %d", info.Size(), limit)
	}
	magic := make([]byte, 4)
	n, err := io.ReadFull(f, magic)
	if string(magic[:n]) == "PAR1" && info.Mode().IsRegular() {
		return r.parquet(name, f, info.Size(), limit)
	}
	data := magic[:n]
	if err == nil {
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(f, limit+1-int64(n)))
		data = append(data, rest...)
	}
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF { //nolint:errorlint // as ReadFull returns them
		return fault("", "%w", err)
	}
	if int64(len(data)) > limit {
		return fault(name, "it has more than %d bytes, which is the limit", limit)
	}
	return r.text(name, data)
}
