// The actions as extensions see them: on references they wait until these are known.
import * as actions from "jackfield:pi/typebox/actions";

const { deferrable } = actions;

export const Partial = deferrable(actions.Partial);
export const Required = deferrable(actions.Required);
export const ReadonlyObject = deferrable(actions.ReadonlyObject);
export const ReadonlyType = deferrable(actions.ReadonlyType);
export const Pick = deferrable(actions.Pick);
export const Omit = deferrable(actions.Omit);
export const Interface = deferrable(actions.Interface);
export const KeyOf = deferrable(actions.KeyOf);
export const Index = deferrable(actions.Index);
export const Exclude = deferrable(actions.Exclude);
export const Extract = deferrable(actions.Extract);
export const NonNullable = deferrable(actions.NonNullable);
export const Conditional = deferrable(actions.Conditional);
export const Capitalize = deferrable(actions.Capitalize);
export const Uncapitalize = deferrable(actions.Uncapitalize);
export const Uppercase = deferrable(actions.Uppercase);
export const Lowercase = deferrable(actions.Lowercase);
export const Parameters = deferrable(actions.Parameters);
export const ReturnType = deferrable(actions.ReturnType);
export const ConstructorParameters = deferrable(actions.ConstructorParameters);
export const InstanceType = deferrable(actions.InstanceType);
export const With = deferrable(actions.With);
export const Evaluate = deferrable(actions.Evaluate);
export const Composite = deferrable(actions.Composite);
