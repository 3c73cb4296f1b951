"""GPT-2 with 124 million random weights, under the Hugging Face Trainer. It knows nothing of Speedproof."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, HfArgumentParser, Trainer, TrainingArguments, set_seed

LENGTH, SYMBOLS = 1024, 256


class Sequences(torch.utils.data.Dataset):
    """Each token is the sum of the two before it, so that there is something to learn."""

    def __init__(self, count: int, seed: int) -> None:
        tokens = torch.randint(SYMBOLS, (count, LENGTH), generator=torch.Generator().manual_seed(seed))
        for place in range(2, LENGTH):
            tokens[:, place] = (tokens[:, place - 1] + tokens[:, place - 2]) % SYMBOLS
        self.tokens = tokens

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


def main() -> None:
    (arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    set_seed(arguments.seed)
    trainer = Trainer(
        model=GPT2LMHeadModel(GPT2Config(use_cache=False)),
        args=arguments,
        train_dataset=Sequences(4096, seed=0),
        eval_dataset=Sequences(128, seed=1),
    )
    trainer.train()
    trainer.evaluate()


if __name__ == "__main__":
    main()
