package qwen

import "github.com/homing-go/homing/model"

// The kinds of [model.Repair] of this dialect: faults that have one reading and were
// mended without loss.
const (
	RepairEmptyArgs         = "empty_args"          // no arguments: {}
	RepairArgsObject        = "args_object"         // arguments as an object instead of its text
	RepairArgsDoubleEncoded = "args_double_encoded" // arguments encoded twice
	RepairArgsRepeated      = "args_repeated"       // the same arguments sent twice
	RepairControlChars      = "control_chars"       // raw control characters in a JSON string
	RepairTrailingComma     = "trailing_comma"      // a comma before a closing bracket
	RepairExtraClose        = "extra_close"         // closing brackets too many
	RepairMissingCloseBrace = "missing_close_brace" // the last brace of a call is missing, its arguments are whole
	RepairFence             = "json_fence"          // JSON in a Markdown fence
	RepairByteOrderMark     = "byte_order_mark"
	RepairParamsAlias       = "params_alias"      // "parameters" instead of "arguments"
	RepairBareJSON          = "bare_json"         // the whole content is a call without its tags
	RepairCallInContent     = "call_in_content"   // a call that the server left in the text
	RepairCallInReasoning   = "call_in_reasoning" // a call at the end of thinking that was never closed
	RepairMissingOpener     = "missing_opener"    // no <tool_call> before the function
	RepairMissingCloseTag   = "missing_close_tag"
	RepairParamDrift        = "param_drift" // <parameter=name=value
	RepairNameQuotes        = "name_quotes"
	RepairNameTrim          = "name_trim" // blanks around a name
	RepairCoerced           = "coerced"   // a value written in another form of the type in the schema
	RepairIDGenerated       = "id_generated"
	RepairFinishFixed       = "finish_fixed"        // the finish reason did not match the calls
	RepairStrayTags         = "stray_tags"          // remains of calls in the text beside structured ones
	RepairAnswerInReasoning = "answer_in_reasoning" // thinking was off and the answer came as thinking
	RepairCallRepeated      = "call_repeated"       // a whole call sent again under the same ID
	RepairFunctionCall      = "function_call"       // a call in the legacy member function_call
)

// answerRepair is the call number of a repair of the answer as a whole.
const answerRepair = -1

type repairs []model.Repair

// add records a repair, once for each call. The repairs of a call stand together.
func (r *repairs) add(kind string, call int) {
	for i := len(*r) - 1; i >= 0 && (*r)[i].Call == call; i-- {
		if (*r)[i].Kind == kind {
			return
		}
	}
	*r = append(*r, model.Repair{Kind: kind, Call: call})
}
