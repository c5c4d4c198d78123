package qwen

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// submitMarker is what harnesses of the mini-swe-agent kind take for the end of a task when
// it is the first line of a command's output.
const submitMarker = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

// Render returns an action as shell commands, to be run one after the other, for harnesses
// that can do nothing else. None is longer than one argument of a process may be, apart
// from those that the model wrote itself. Commands, views and submissions have the text
// that the reference translation of the benchmark gives them.
//
// What an [Executor] does better is lost: a view past the end prints nothing, a submission
// is a marker in the output, which any file can print, and git's warnings get into the
// patch. An edit needs python3.
func Render(action Action, root string) []string {
	root = Toolset{Root: root}.root()
	switch a := action.(type) {
	case Exec:
		return []string{a.Command}
	case View:
		file := quoteShell(a.Path)
		switch {
		case a.Start == 0:
			return []string{"cat -n " + file}
		case a.End == -1:
			return []string{fmt.Sprintf(`awk 'NR>=%d {printf "%%6d\t%%s\n", NR, $0}' %s`, a.Start, file)}
		}
		return []string{fmt.Sprintf(`awk 'NR>=%d && NR<=%d {printf "%%6d\t%%s\n", NR, $0}' %s`, a.Start, a.End, file)}
	case Edit:
		return renderPayload(editProgram, a.Path, a.Old, a.New)
	case Write:
		return renderPayload(writeProgram, a.Path, a.Content)
	case Submit:
		quoted := make([]string, len(a.Paths))
		for i, p := range a.Paths {
			quoted[i] = quoteShell(p)
		}
		files, git := strings.Join(quoted, " "), "git -C "+quoteShell(root)
		return []string{fmt.Sprintf("echo %s && %s add -N -- %s && %s diff HEAD -- %s", submitMarker, git, files, git, files)}
	}
	return nil
}

// The programs take the path and the texts in base64, or a text as the name of a file that
// holds its base64, and work on bytes. They write in place.
const (
	payloadProgram = `import base64,os,sys
def b(a):
    if a[:1]=="@":
        n=a[1:]
        a=open(n).read()
        os.remove(n)
    return base64.b64decode(a)
p,*t=map(b,sys.argv[1:])
`
	writeProgram = payloadProgram + `os.makedirs(os.path.dirname(p) or b".",exist_ok=True)
open(p,"wb").write(t[0])
print("wrote",os.fsdecode(p))`
	editProgram = payloadProgram + `s=open(p,"rb").read()
o,n=t
if not s.count(o) and s.count(b"\n")==s.count(b"\r\n"):
    o,n=(x.replace(b"\r\n",b"\n").replace(b"\n",b"\r\n") for x in t)
c=s.count(o)
if c!=1:
    sys.exit("old_str occurs %d times in %s; nothing was changed"%(c,os.fsdecode(p)))
open(p,"wb").write(s.replace(o,n))
print("replaced the text at line",s[:s.index(o)].count(b"\n")+1)`
)

// payloadChunk is how much of a base64 text goes into one command.
const payloadChunk = 96 << 10

// renderPayload renders a program with its texts, which travel in files when they are long.
func renderPayload(program, file string, texts ...string) (commands []string) {
	total := 0
	for _, text := range texts {
		total += base64.StdEncoding.EncodedLen(len(text))
	}
	run := []string{"python3", "-c", quoteShell(program), base64.StdEncoding.EncodeToString([]byte(file))}
	for i, text := range texts {
		encoded := base64.StdEncoding.EncodeToString([]byte(text))
		if total <= payloadChunk {
			run = append(run, "'"+encoded+"'")
			continue
		}
		name := "/tmp/homing-" + newCallID(i, len(text), 0, file, []byte(text))
		for redirect := ">"; ; redirect = ">>" {
			n := min(len(encoded), payloadChunk)
			commands = append(commands, fmt.Sprintf("printf %%s '%s' %s %s", encoded[:n], redirect, name))
			if encoded = encoded[n:]; encoded == "" {
				break
			}
		}
		run = append(run, "@"+name)
	}
	return append(commands, strings.Join(run, " "))
}

// quoteShell quotes a word for a POSIX shell, as Python's shlex does.
func quoteShell(word string) string {
	safe := func(r rune) bool {
		return r < 0x80 && ('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_@%+=:,./-", r))
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
}
