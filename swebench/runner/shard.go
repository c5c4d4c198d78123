package runner

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/homing-go/homing/swebench/dataset"
)

// A Shard is one of several parts of a run: the rows whose number, modulo Of, is Index. All
// parts together are the run, whether they count from 0 or from 1: the last one is 0. The
// zero Shard is all rows.
type Shard struct {
	Index, Of int
}

// maxShards bounds the parts of a run.
const maxShards = 100_000

// ParseShard reads i/n, such as 1/4; "" is the zero Shard. The error is a *[ConfigError].
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	first, second, ok := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(first)
	of, err2 := strconv.Atoi(second)
	s := Shard{Index: index, Of: of}
	if !ok || err1 != nil || err2 != nil || of < 1 {
		return Shard{}, &ConfigError{Field: "Shard", Reason: fmt.Sprintf("it is %.40q, want i/n, such as 1/4", text)}
	}
	return s, s.check()
}

func (s Shard) check() error {
	if s.Of < 0 || s.Of > maxShards || s.Index < 0 || s.Index > s.Of {
		return &ConfigError{Field: "Shard", Reason: fmt.Sprintf("it is %d/%d, want i/n with i from 1 to n, or from 0 to n-1, and n at most %d", s.Index, s.Of, maxShards)}
	}
	return nil
}

// String is what [ParseShard] reads.
func (s Shard) String() string {
	if s.Of <= 1 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index%s.Of, s.Of)
}

// of returns the rows of the part.
func (s Shard) of(rows []dataset.Row) []dataset.Row {
	if s.Of <= 1 {
		return rows
	}
	var part []dataset.Row
	for i, row := range rows {
		if (i+1)%s.Of == s.Index%s.Of {
			part = append(part, row)
		}
	}
	return part
}

// schedulers are the variables in which schedulers tell all parts of a job the same ID.
var schedulers = []string{"SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID", "LSB_JOBID"}

// SchedulerRun is the name of a run that a scheduler's job gives to all its parts: slurm-
// or lsf- and the job's ID. It is "" outside of a job. getenv is os.Getenv.
func SchedulerRun(getenv func(string) string) string {
	for _, name := range schedulers {
		if id := getenv(name); id != "" && runNameFault(id) == "" {
			if strings.HasPrefix(name, "LSB") {
				return "lsf-" + id
			}
			return "slurm-" + id
		}
	}
	return ""
}
