package sandbox

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Spec says what sandbox to start. It is copied: a change after Start has no effect on the
// sandbox, and none of one sandbox has an effect on another.
type Spec struct {
	// Image is what [Docker] starts, and for [Bubblewrap] the name of a root folder.
	Image string
	// Dir is the folder in which commands start; it is made if it is missing. "" means
	// "/testbed".
	Dir string
	// Env is the environment on top of the image's. Unless BASH_ENV is in it or in the
	// image, it is set so that bash reads the user's .bashrc, if there is one: the images of
	// SWE-bench activate their test environment there, which "bash -c" would not read. A bash
	// that is started by such a bash inherits the environment and does not read it again. An
	// empty BASH_ENV switches that off. [Local] sets nothing: this machine's user did.
	Env map[string]string
	// Labels are what Runtime.List finds the sandbox by.
	Labels map[string]string
	// Name is the name of the container; "" means that one is chosen.
	Name string
	// MemoryBytes bounds the memory: of the container, and without one of each process. 0
	// means no limit.
	MemoryBytes int64
	// PIDs bounds the number of processes: of the container, and without one of the user,
	// where it does not hold for root. 0 means no limit.
	PIDs int
	// FileBytes bounds the size of each file that is written, by CopyIn too, where a command
	// may not raise limits: that is everywhere but with [Local] as root. 0 means no limit. The
	// sum of all files is bounded by nothing here, so many can fill the disk. For that see
	// DockerConfig.RunArgs: --storage-opt=size=10g bounds the container, where the engine's
	// storage has quotas, and --tmpfs=/tmp:size=1g a folder, which begins empty and is in memory
	// that counts for MemoryBytes.
	FileBytes int64
	// Lifetime is when a container ends by itself, should nobody remove it: longer than the
	// task. 0 means 10 hours. It is for Docker only. It begins with Start, and no command makes
	// it begin anew; but without its sleep program a container does not end by itself.
	Lifetime time.Duration
	// Root is the root folder for [Bubblewrap], and for [Local] the folder of which the
	// sandbox gets a copy to work in.
	Root string
}

// defaultDir is where the images of SWE-bench have their repository.
const defaultDir = "/testbed"

// A SpecError says what in a [Spec] or a command cannot be used.
type SpecError struct{ Field, Value, Want string }

// Error names the field, its value and what is wanted.
func (e *SpecError) Error() string {
	return fmt.Sprintf("sandbox: %s %.200q cannot be used: %s", e.Field, e.Value, e.Want)
}

var (
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	labelKey   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
	plainName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	imageName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$`)
	maxNameLen = 200
)

// checked returns a copy of the spec that shares nothing with it, or what is wrong with it.
func (s Spec) checked() (Spec, error) {
	if s.Dir == "" {
		s.Dir = defaultDir
	}
	if !path.IsAbs(s.Dir) || !plainText(s.Dir) {
		return s, &SpecError{"Dir", s.Dir, "give an absolute path in UTF-8"}
	}
	for name, value := range s.Env {
		if !envName.MatchString(name) || strings.HasPrefix(name, "HOMING_") {
			return s, &SpecError{"Env", name, "a name is letters, digits and _, does not begin with a digit, nor with HOMING_"}
		}
		if !plainText(value) { // the value may be a secret
			return s, &SpecError{"Env", name, "its value must be UTF-8 without NUL"}
		}
	}
	for key, value := range s.Labels {
		if !labelKey.MatchString(key) || len(key) > maxNameLen {
			return s, &SpecError{"Labels", key, "a key is letters, digits and . _ / -, at most 200, and begins with a letter or a digit"}
		}
		if !plainText(value) || strings.ContainsAny(value, "\r\n") || len(value) > 4096 {
			return s, &SpecError{"Labels", key, "its value must be one line of UTF-8, at most 4096 bytes"}
		}
	}
	switch {
	case s.Name != "" && (!plainName.MatchString(s.Name) || len(s.Name) > maxNameLen):
		return s, &SpecError{"Name", s.Name, "use letters, digits and _ . -, at most 200, and begin with a letter or a digit"}
	case s.MemoryBytes < 0 || s.PIDs < 0 || s.FileBytes < 0 || s.Lifetime < 0:
		return s, &SpecError{"MemoryBytes, PIDs, FileBytes or Lifetime", "below 0", "0 means no limit"}
	case strings.ContainsRune(s.Root, 0):
		return s, &SpecError{"Root", s.Root, "a path has no NUL"}
	}
	if s.Lifetime == 0 {
		s.Lifetime = 10 * time.Hour
	}
	s.Env, s.Labels = maps.Clone(s.Env), maps.Clone(s.Labels)
	return s, nil
}

func plainText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// checkImage keeps a name from being taken for a flag, and for more than a name.
func checkImage(name string) error {
	if !imageName.MatchString(name) || len(name) > 512 {
		return &SpecError{"Image", name, "give the reference of an image, such as docker.io/swebench/name:latest"}
	}
	return nil
}

// checkID keeps the ID of a sandbox from being taken for a flag or a path.
func checkID(id string) error {
	if !plainName.MatchString(id) || len(id) > maxNameLen || strings.Contains(id, "..") {
		return &SpecError{"ID", id, "give what ID or List returned"}
	}
	return nil
}
